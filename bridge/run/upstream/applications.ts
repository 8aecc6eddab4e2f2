// SPDX-License-Identifier: Apache-2.0
import { writeExactJson } from '../../../core/exact-json.js'
import { InvalidInputError, KubeStatusError, type KubeStatus } from '../../../core/errors.js'
import { isMap, setKey, type JsonMap } from '../../../core/json.js'
import type { ResourceType } from '../../../kube/client/resource.js'
import type { ListRequest, TokenClient } from '../../../kube/client/resource-client.js'
import {
  agentPodOf,
  agentRight,
  AGENT,
  withoutAgent,
  type Asker,
} from '../../model/application/agent-right.js'
import { agentView, listBody } from '../../model/application/agent-view.js'
import {
  MAX_TEXT,
  parseApplication,
  type Application,
  type Listing,
  type Target,
} from '../../model/application/application.js'
import type { PlacedPod } from '../../model/location/location-cache.js'
import { contentObject } from '../../model/message/content.js'
import { rejected } from '../../model/message/reply.js'
import { statusOf } from '../../model/message/status.js'
import { MAX_WATCHES } from '../agents/watch-desk.js'
import { refused, type Call, type Result } from './call.js'
import { parseWhole } from './objects.js'

/** Largest answer: an edge stores it in one row, and a frame has to hold it with other fields. */
const MAX_ANSWER_LENGTH = 4 << 20
const BAD: KubeStatus = { status: 400, reason: 'BadRequest', message: 'it is not a watch' }

const typeOf = ({ group, version, resource }: Target, subresource = ''): ResourceType<JsonMap> => ({
  ...{ group, version, resource, parse: parseWhole },
  ...(subresource === 'status' ? { subresource } : {}),
})

const placeOf = ({ namespace }: Target) => (namespace === '' ? {} : { namespace })

const requestOf = (target: Target, listing: Listing): ListRequest => {
  const { labelSelector, fieldSelector, resourceVersion, limit, next } = listing
  const known = resourceVersion === '0' ? undefined : resourceVersion
  return {
    ...placeOf(target),
    ...(target.name === '' ? {} : { name: target.name }),
    ...{ labelSelector, fieldSelector, limit, continueAt: next },
    // A next page must be of the same version as the first.
    ...(resourceVersion === '' || next !== '' ? {} : { fromCache: { known } }),
  }
}

const answer = (body: JsonMap): Result => {
  const text = writeExactJson(body)
  return text.length <= MAX_ANSWER_LENGTH
    ? { kind: 'approved', body: text }
    : refused(
        413,
        'RequestEntityTooLarge',
        `the answer has ${text.length} characters, more than ${MAX_ANSWER_LENGTH}: ask with a limit`,
      )
}

/** Carry out one request with an agent's own rights. All checks are done. */
const carryOut = async (
  { node, guard, signal, watches }: Call,
  { id, target, ask }: Application,
  api: TokenClient,
): Promise<Result> => {
  const of = { ...placeOf(target), name: target.name }
  const view = (object: JsonMap): JsonMap => agentView(target, object, node)
  switch (ask.verb) {
    case 'get':
      return answer(view(await api.get(typeOf(target), of, signal)))
    case 'list': {
      const page = await api.list(typeOf(target), requestOf(target, ask.listing), signal)
      return answer(listBody(target, page.items.map(view), page))
    }
    case 'create': {
      const write = { body: ask.body, fieldManager: AGENT, guard }
      return answer(view(await api.create(typeOf(target), placeOf(target), write, signal)))
    }
    case 'patch': {
      const { type, text, isDryRun, subresource } = ask
      const write = { patch: { type, text }, isDryRun, fieldManager: AGENT, guard }
      return answer(view(await api.patch(typeOf(target, subresource), of, write, signal)))
    }
    case 'watch': {
      // The bridge could watch everything itself, so test the agent's right to watch by a list of one object.
      const first = { ...requestOf(target, ask.listing), limit: 1, fromCache: { known: undefined } }
      await api.list(typeOf(target), first, signal)
      const refusal = watches.add(node, id, target, ask.listing)
      return refusal === undefined
        ? { kind: 'approved', body: undefined }
        : { kind: 'refused', refusal }
    }
  }
}

/** With a token that the apiserver accepts: after a 401, try once more with a new one. */
const withToken = async (
  { agents, signal }: Call,
  pod: PlacedPod,
  work: (api: TokenClient) => Promise<Result>,
): Promise<Result> => {
  try {
    return await work(await agents.as(pod, signal))
  } catch (error) {
    if (!(error instanceof KubeStatusError) || error.status !== 401) throw error
    agents.refused(pod)
    return work(await agents.as(pod, signal))
  }
}

const askerOf = ({ node, agents: { namespace } }: Call): Asker => ({ node, namespace })

/** The Pod with whose rights the request is made, or the refusal. */
const allowed = (
  call: Call,
  application: Application,
): { readonly pod: PlacedPod } | Extract<Result, { readonly kind: 'refused' }> => {
  const asker = askerOf(call)
  const right = agentRight(application, asker)
  if (!right.ok) return { kind: 'refused', refusal: right.refusal }
  const pod = agentPodOf(call.locations, asker)
  return pod === undefined
    ? { kind: 'refused', refusal: withoutAgent(application, asker) }
    : { pod }
}

/** Serve a request of an agent with the rights of the agent's Pod. */
const serve = (call: Call, application: Application): Promise<Result> => {
  const judged = allowed(call, application)
  if (!('pod' in judged)) return Promise.resolve(judged)
  return withToken(call, judged.pod, api => carryOut(call, application, api))
}

/** A request of an agent to the edge's own Kubernetes API. */
export const passOn = (call: Call): Promise<Result> =>
  serve(call, parseApplication(call.message.content))

/** Keep one of the watches that an edge has, if it is not kept already. @returns why it is refused */
const keepWatch = async (call: Call, one: unknown): Promise<KubeStatus | undefined> => {
  try {
    const application = parseApplication(one)
    if (application.ask.verb !== 'watch') return BAD
    if (call.watches.has(call.node, application.id)) return undefined
    const result = await serve(call, application)
    return result.kind === 'refused' ? result.refusal : undefined
  } catch (error) {
    return error instanceof InvalidInputError ? { ...BAD, message: error.message } : statusOf(error)
  }
}

/** An edge lists all watches of its own Kubernetes API: end all others, and answer with those that are refused. */
export const syncWatches = async (call: Call): Promise<Result> => {
  const asked = Object.entries(contentObject('watches', call.message.content ?? {}))
  if (asked.length > MAX_WATCHES)
    return refused(429, 'TooManyRequests', `a node has at most ${MAX_WATCHES} watches`)
  // The answer repeats them.
  if (asked.some(([id]) => id.length > MAX_TEXT))
    return refused(400, 'BadRequest', `ids of watches have at most ${MAX_TEXT} characters`)
  call.watches.keepOnly(call.node, new Set(asked.map(([id]) => id)))
  const failed: JsonMap = {}
  for (const [id, one] of asked) {
    const refusal = await keepWatch(call, one)
    if (refusal !== undefined) setKey(failed, id, rejected(isMap(one) ? one : {}, refusal))
  }
  return { kind: 'watches', failed }
}
