// SPDX-License-Identifier: Apache-2.0
// A real apiserver for the bench, and what it says of the requests that it got.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBinaries } from '../../testkit/control-plane/binaries.js'
import { servingPair } from '../../testkit/control-plane/certificates.js'
import {
  makeControlPlane,
  type ControlPlane,
  type ControlPlaneOptions,
} from '../../testkit/control-plane/control-plane.js'
import { API, binariesIn } from '../../testkit/control-plane/programs.js'

const never = new AbortController().signal

/** Requests by what they were: `APPLY deployments 201`, `dry-run APPLY deployments 201`. Reads and Leases have their names, too. */
export type Requests = ReadonlyMap<string, number>

const SERIES = /^apiserver_request_total\{(.*)\} (\S+)$/gm

const parseRequests = (text: string): Requests => {
  const requests = new Map<string, number>()
  for (const [, labels = '', value = '0'] of text.matchAll(SERIES)) {
    const label = (name: string): string =>
      new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? ''
    const sub = label('subresource')
    const what = `${label('resource')}${sub === '' ? '' : `/${sub}`}`
    const dry = label('dry_run') === '' ? '' : 'dry-run '
    const key = `${dry}${label('verb')} ${what} ${label('code')}`
    requests.set(key, (requests.get(key) ?? 0) + Number(value))
  }
  return requests
}

/** What came since. */
export const since = (before: Requests, after: Requests): Requests =>
  new Map(
    [...after].flatMap(([key, count]) => {
      const more = count - (before.get(key) ?? 0)
      return more === 0 ? [] : [[key, more] as const]
    }),
  )

/** How many of those that match. */
export const countOf = (requests: Requests, pattern: RegExp): number =>
  [...requests].reduce((sum, [key, count]) => (pattern.test(key) ? sum + count : sum), 0)

export interface BenchPlane {
  readonly plane: ControlPlane
  requests(): Promise<Requests>
  stop(): Promise<void>
}

/**
 * The folder with etcd and kube-apiserver, which are built if they are not there yet.
 * @throws MissingError where they are neither there nor can be built
 */
export const findPlane = (say: (line: string) => void): Promise<string> =>
  findBinaries(
    { folder: 'testkit/control-plane', kubernetes: undefined, programs: API },
    process.env,
    say,
  )

/**
 * @param addresses further ones by which it is asked, beside 127.0.0.1
 * @throws MissingError where its programs are neither there nor can be built
 */
export const openPlane = async (
  say: (line: string) => void,
  addresses: readonly string[] = [],
  more: Pick<ControlPlaneOptions, 'auditPolicy' | 'readyMs'> = {},
): Promise<BenchPlane> => {
  const binaries = binariesIn(await findPlane(say))
  const dir = mkdtempSync(join(tmpdir(), 'edge-health-bench-'))
  const plane = await makeControlPlane({
    ...{ binaries, dir, users: [], graceMs: undefined, ...more },
    serving: await servingPair(['127.0.0.1', ...addresses]),
    onCrash: ({ title }, lines) => {
      say([`${title} ended by itself`, ...lines].join('\n  '))
      process.exit(1)
    },
  })
  const stop = async (): Promise<void> => {
    await plane.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    await plane.start(never)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    plane,
    requests: async () => parseRequests(await plane.kubectl(['get', '--raw', '/metrics'])),
    stop,
  }
}
