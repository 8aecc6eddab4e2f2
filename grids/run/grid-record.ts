// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { InvalidInputError } from '../../core/errors.js'
import { id64 } from '../../core/ids.js'
import { isMap } from '../../core/json.js'
import { parseWith } from '../../core/parse.js'
import { parseMetadata } from '../../kube/client/resource.js'
import { GRID_API, gridText, type Grid, type GridKind, type Json } from '../model/grid.js'
import type { NameHolder } from '../model/name.js'
import { parseGrid } from '../model/parse.js'
import { SERVICE_SUFFIX } from '../model/render.js'
import { UNIT_LABEL } from '../model/marks.js'

/** A grid of the API, whether it can be parsed or not. */
export interface GridRecord {
  /** `DeploymentGrid default/web`. */
  readonly key: string
  readonly kind: GridKind
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly generation: number
  readonly isDeleting: boolean
  /** Changes when anything but the status does. */
  readonly revision: string
  readonly status: Json
  readonly reading:
    { readonly ok: true; readonly grid: Grid } | { readonly ok: false; readonly trouble: string }
}

const withStatus = v.object({ status: v.nullish(v.looseObject({}), {}) })

const read = (raw: unknown): GridRecord['reading'] => {
  try {
    return { ok: true, grid: parseGrid(raw) }
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    return { ok: false, trouble: error.message }
  }
}

/** Reads grids of one kind; list items lack `apiVersion` and `kind`. @throws InvalidInputError when it is not an object */
export const makeGridReader =
  (kind: GridKind) =>
  (raw: unknown): GridRecord => {
    const { uid, generation, isBeingDeleted, labels, annotations, namespace, name } =
      parseMetadata(raw)
    const { status } = parseWith(withStatus, kind, raw)
    const texts = id64(JSON.stringify([labels, annotations])).toString(16)
    return {
      ...{ kind, namespace, name, uid, generation, status },
      key: gridText({ kind, namespace, name }),
      isDeleting: isBeingDeleted,
      revision: `${uid}/${generation}/${texts}/${isBeingDeleted ? 'deleting' : ''}`,
      reading: read(isMap(raw) ? { ...raw, apiVersion: GRID_API, kind } : raw),
    }
  }

/** What a child of this grid with these labels says about its name. */
export const nameHolderOf = (
  { uid, kind }: Pick<GridRecord, 'uid' | 'kind'>,
  labels: Readonly<Record<string, string>>,
): NameHolder => ({
  gridUid: uid,
  suffix: labels[UNIT_LABEL] ?? (kind === 'ServiceGrid' ? SERVICE_SUFFIX : undefined),
})
