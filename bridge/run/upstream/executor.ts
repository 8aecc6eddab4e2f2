// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { WriteGuard } from '../../../kube/client/write.js'
import { contentObject } from '../../model/message/content.js'
import type { Message, Stamp } from '../../model/message/message.js'
import {
  answerReply,
  applicationReply,
  approved,
  askedBy,
  membershipReply,
  objectReply,
  okReply,
  refusalReply,
  textReply,
  watchesReply,
} from '../../model/message/reply.js'
import { statusOf } from '../../model/message/status.js'
import type { Resource } from '../../model/resource/resource.js'
import type { ReplyForm } from '../../model/route/upstream.js'
import { refused, type ExecutorSeams, type Request, type Result } from './call.js'
import { HANDLERS, WITH_CONTENT } from './handlers.js'
import { SharedReads } from './shared-reads.js'

const failure = (error: unknown): Result =>
  error instanceof InvalidInputError
    ? refused(400, 'BadRequest', error.message)
    : { kind: 'refused', refusal: statusOf(error) }

/** Edges renew every 10 s, so an older renewal does not prove that the node lives now. */
const LEASE_PATIENCE_MS = 10_000

const nothingOf = (node: NodeName): Resource => ({ node, namespace: '', type: '', name: '' })

/** The reply to a successful request. */
const wellReply = (
  form: ReplyForm,
  { message, stamp }: { readonly message: Message; readonly stamp: Stamp },
  result: Exclude<Result, { readonly kind: 'refused' }>,
): Message => {
  if (form === 'membership') return membershipReply(message, stamp)
  switch (result.kind) {
    case 'done':
      return okReply(message, stamp)
    case 'text':
      return textReply(message, stamp, result.text)
    case 'approved':
      return applicationReply(message, stamp, approved(askedBy(message), result.body))
    case 'watches':
      return watchesReply(message, stamp, result.failed)
    case 'object':
      return form === 'answer'
        ? answerReply(message, stamp, { object: result.object })
        : objectReply(message, stamp, result.object)
  }
}

/** The outcome of a request, as metrics name it. */
const outcomeOf = (result: Result): string => {
  if (result.kind !== 'refused') return 'done'
  const { status } = result.refusal
  if (status === 403) return 'forbidden'
  return status >= 500 ? 'failed' : 'refused'
}

/** Carries out the requests that it is given. Never rejects except for a bug. */
export class Executor {
  readonly #seams: ExecutorSeams
  readonly #patienceMs: number
  readonly #reads = new SharedReads()

  constructor(seams: ExecutorSeams, { patienceMs }: { readonly patienceMs: number }) {
    this.#seams = seams
    this.#patienceMs = patienceMs
  }

  /** The earliest time that the apiserver's clock can show now. */
  serverTime(): number | undefined {
    return this.#seams.client.serverTime()
  }

  /** Why a request is too late to be carried out; undefined when it is not. */
  lateness({ route, arrivedAt }: Pick<Request, 'route' | 'arrivedAt'>): string | undefined {
    const limitMs = route.lane === 'lease' ? LEASE_PATIENCE_MS : this.#patienceMs
    const waitedMs = this.#seams.clock.now() - arrivedAt
    return waitedMs > limitMs ? `it waited for ${Math.round(waitedMs / 1_000)} s` : undefined
  }

  async execute(
    request: Request,
    stamp: () => Stamp,
  ): Promise<{ readonly reply: Message | undefined; readonly outcome: string }> {
    const result = await this.#result(request)
    const { reply: form } = request.route
    const outcome = outcomeOf(result)
    const { message, resource } = request
    if (result.kind === 'refused')
      return { reply: refusalReply(form, message, stamp(), result.refusal), outcome }
    if (form === 'none') return { reply: undefined, outcome }
    const reply = wellReply(form, { message, stamp: stamp() }, result)
    if (form === 'object' && result.kind === 'object' && resource !== undefined)
      this.#seams.downstream.answering(resource, result.object)
    return { reply, outcome }
  }

  async #result(request: Request): Promise<Result> {
    const lateReason = (): string | undefined => this.lateness(request)
    const late = lateReason()
    if (late !== undefined) return refused(504, 'Timeout', late)
    const { node, message, route, servedAt } = request
    const { handler } = route
    try {
      // There may have been no Node of this name when it connected.
      const { isEdge, isForeign } = this.#seams
      if (!isEdge(node) && (await isForeign(node)))
        return refused(403, 'Forbidden', 'the Node is not an edge node')
      const resource = request.resource ?? nothingOf(node)
      const takes = WITH_CONTENT.has(handler)
      const content = takes ? contentObject(`content of ${message.resource}`, message.content) : {}
      const guard: WriteGuard = () => this.#seams.guard() ?? lateReason()
      return await HANDLERS[handler]({
        ...{
          ...this.#seams,
          reads: this.#reads,
          guard,
          node,
          handler,
          resource,
          content,
          message,
          servedAt,
        },
      })
    } catch (error) {
      return failure(error)
    }
  }
}
