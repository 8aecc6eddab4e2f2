// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A panel of a Grafana dashboard, as much of it as ours have. */
export interface Panel {
  readonly id: number
  readonly type: 'heatmap' | 'row' | 'stat' | 'state-timeline' | 'table' | 'timeseries'
  readonly title: string
  readonly description?: string
  readonly gridPos: {
    readonly h: number
    readonly w: number
    readonly x: number
    readonly y: number
  }
  readonly targets?: readonly {
    readonly refId: string
    readonly expr: string
    readonly legendFormat: string
    readonly format?: string
  }[]
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit?: string
      readonly mappings?: readonly {
        readonly options: Readonly<
          Record<string, { readonly text: string; readonly color: string }>
        >
      }[]
      readonly thresholds?: {
        readonly steps: readonly { readonly color: string; readonly value: number | null }[]
      }
      readonly custom?: { readonly stacking?: { readonly mode: string } }
    }
  }
  readonly transformations?: readonly {
    readonly id: string
    readonly options: { readonly renameByName?: Readonly<Record<string, string>> }
  }[]
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly templating: { readonly list: readonly { readonly name: string }[] }
  readonly panels: readonly Panel[]
}

/** Where they are. */
export const DASHBOARDS = join(import.meta.dirname, '../../deploy/components/dashboards')

/** The dashboards of a folder, without one those that are shipped. */
export const dashboards = (folder = DASHBOARDS): readonly Dashboard[] =>
  readdirSync(folder)
    .filter(name => name.endsWith('.json'))
    .sort()
    .map(name => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Dashboard)

/** An expression as Grafana sends it to Prometheus for a zone. */
export const expressionFor = (expression: string, zone: string, rateInterval: string): string =>
  expression.replaceAll('$zone', zone).replaceAll('$__rate_interval', rateInterval)
