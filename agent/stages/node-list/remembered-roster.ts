// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { parseNodeName, parseZoneName, type NodeName } from '../../../core/ids.js'
import { parseJson, parseWith } from '../../../core/parse.js'
import { makeRoster, type Roster } from '../../../core/roster.js'

const schema = v.object({
  version: v.literal(1),
  zone: v.string(),
  listedAt: v.number(),
  rule: v.string(),
  members: v.array(v.object({ name: v.string(), address: v.pipe(v.string(), v.minLength(1)) })),
})

/** A roster as it outlives a restart. */
export interface RememberedRoster {
  readonly roster: Roster
  readonly listedAt: number
  readonly rule: string
}

/** What `parseRoster` reads, as text. */
export const rememberRoster = ({ roster, listedAt, rule }: RememberedRoster): string =>
  JSON.stringify({
    version: 1,
    zone: roster.zone,
    listedAt,
    rule,
    members: roster.members.map(({ name, address }) => ({ name, address })),
  })

/** @throws InvalidInputError when the text is broken or the own node is not in it. */
export const parseRoster = (text: string, self: NodeName): RememberedRoster => {
  const thing = 'remembered roster'
  const { zone, listedAt, rule, members } = parseWith(schema, thing, parseJson(thing, text))
  const list = members.map(({ name, address }) => ({ name: parseNodeName(name), address }))
  return { roster: makeRoster(parseZoneName(zone), self, list), listedAt, rule }
}
