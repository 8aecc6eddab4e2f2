// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { parseNodeName } from '../../../core/ids.js'
import { parseJson, parseWith } from '../../../core/parse.js'
import { PUBLIC_KEY_BYTES } from '../../identity/node-keys.js'
import type { Pin } from '../../identity/pins.js'

const key = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9_-]{43}$/),
  v.transform(text => Buffer.from(text, 'base64url')),
  v.check(raw => raw.length === PUBLIC_KEY_BYTES, 'must have 32 bytes'),
)
const schema = v.object({
  version: v.literal(1),
  members: v.array(
    v.object({
      node: v.string(),
      uid: v.string(),
      generation: v.pipe(v.number(), v.integer(), v.minValue(1)),
      signing: key,
      agreement: key,
    }),
  ),
})

/** What `parsePins` reads, as text. */
export const rememberPins = (pins: Iterable<Pin>): string =>
  JSON.stringify({
    version: 1,
    members: [...pins].map(({ node, uid, generation, keys }) => ({
      ...{ node, uid, generation },
      signing: keys.signing.toString('base64url'),
      agreement: keys.agreement.toString('base64url'),
    })),
  })

/** @throws InvalidInputError when the text is broken. */
export const parsePins = (text: string): readonly Pin[] => {
  const thing = 'remembered identities'
  const { members } = parseWith(schema, thing, parseJson(thing, text))
  return members.map(({ node, signing, agreement, ...rest }) => ({
    ...rest,
    node: parseNodeName(node),
    keys: { signing, agreement },
  }))
}
