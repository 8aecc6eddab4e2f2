// SPDX-License-Identifier: Apache-2.0
// An edge, a cluster and bridges, in any order of events: in the end the edge is as the cluster.
import t, { type Test } from 'tap'
import { textAt, valueAt } from '../../../core/json-at.js'
import type { Message } from '../../../bridge/model/message/message.js'
import type { Edge } from '../../../testkit/edge/edge.js'
import { memoryStore } from '../../../testkit/edge/store.js'
import fc from '../../../testkit/properties.js'
import { MAPS, mapBody, MemoryDisk, nodeBody, NODES, podBody, PODS, Stage } from './memory-stage.js'

const NAMES = ['a', 'b', 'c'] as const
const inTill = (name: string) => ({ namespace: 'till', name })

/** Everything that an edge was told of objects, in the order in which it arrived. */
interface Heard {
  readonly operation: string
  readonly uid: string
  readonly image: number
}

class Play {
  readonly stage: Stage
  readonly heard: Heard[] = []
  readonly #store = memoryStore()
  edge: Edge | undefined
  disk = new MemoryDisk()
  #count = 0
  #losesAcks = false
  #losesMessages = false

  constructor(t: Test) {
    this.stage = new Stage(t)
    this.stage.cluster.put(NODES, nodeBody('e1'))
  }

  async begin(): Promise<void> {
    await this.startBridge()
    this.edge = this.stage.edge('e1', this.#store)
    await this.stage.clock.advance(2_000)
  }

  async startBridge(): Promise<void> {
    const bridge = await this.stage.start({ disk: this.disk })
    bridge.arrives = message => {
      const arrives = !this.#losesMessages || message.parentId !== undefined
      if (arrives && message.parentId === undefined) this.hear(message)
      return arrives
    }
    bridge.isAckHeard = () => !this.#losesAcks
  }

  hear({ operation, resource, content }: Message): void {
    if (!resource.startsWith('till/pod/')) return
    const containers = valueAt(content, 'spec', 'containers') as { image: string }[] | undefined
    const image = Number(containers?.[0]?.image ?? 0)
    this.heard.push({ operation, uid: textAt(content, 'metadata', 'uid'), image })
  }

  setPod(name: string): void {
    const { cluster } = this.stage
    const before = cluster.get(PODS, inTill(name))
    const containers = [{ name: 'c', image: String(++this.#count) }]
    const map = NAMES[this.#count % 3]
    const made = podBody(name, 'e1', { containers, map })
    cluster.put(PODS, before === undefined ? made : { ...before, spec: made['spec'] })
  }

  /** As the API does: the edge ends it, and says when it has. */
  endPod(name: string): void {
    const { cluster, clock } = this.stage
    const pod = cluster.get(PODS, inTill(name))
    const deletionTimestamp = new Date(clock.wall()).toISOString()
    if (pod !== undefined)
      cluster.put(PODS, { ...pod, metadata: { ...pod.metadata, deletionTimestamp } })
  }

  setMap(name: string): void {
    this.stage.cluster.put(MAPS, mapBody(name, String(++this.#count)))
  }

  async step(what: string, name: string): Promise<void> {
    const { stage } = this
    const { cluster, clock } = stage
    if (what === 'pod') this.setPod(name)
    else if (what === 'no pod') cluster.delete(PODS, inTill(name))
    else if (what === 'end pod') this.endPod(name)
    else if (what === 'map') this.setMap(name)
    else if (what === 'no map') cluster.delete(MAPS, inTill(name))
    else if (what === 'hold') cluster.isHeldBack = true
    else if (what === 'deliver') cluster.deliver(1)
    else if (what === 'deliver all') this.release()
    else if (what === 'cut') stage.bridge?.cut('e1')
    else if (what === 'lose acks') this.#losesAcks = !this.#losesAcks
    else if (what === 'lose messages') this.#losesMessages = !this.#losesMessages
    else if (what === 'away') cluster.isAway = !cluster.isAway
    else if (what === 'restart edge') this.restartEdge()
    else if (what === 'kill bridge') await this.restartBridge(false)
    else if (what === 'end bridge') await this.restartBridge(true)
    else await clock.advance(Number(what))
  }

  release(): void {
    this.stage.cluster.isHeldBack = false
    this.stage.cluster.deliver()
  }

  restartEdge(): void {
    this.edge?.kill()
    this.stage.bridge?.cut('e1')
    this.edge = this.stage.edge('e1', this.#store)
  }

  async restartBridge(isGraceful: boolean): Promise<void> {
    await this.stage.bridge?.stop(isGraceful)
    // A new process lists anew.
    this.release()
    await this.startBridge()
  }

  async calm(): Promise<void> {
    this.#losesAcks = false
    this.#losesMessages = false
    this.stage.cluster.isAway = false
    this.release()
    await this.stage.clock.advance(400_000)
  }
}

const name = fc.constantFrom(...NAMES)
const about = (weight: number, what: string) => ({
  weight,
  arbitrary: name.map((name): readonly [string, string] => [what, name]),
})
const step = fc.oneof(
  ...[
    about(6, 'pod'),
    about(3, 'no pod'),
    about(1, 'end pod'),
    about(3, 'map'),
    about(2, 'no map'),
  ],
  ...[about(1, 'hold'), about(2, 'deliver'), about(2, 'deliver all'), about(2, 'cut')],
  ...[about(1, 'lose acks'), about(1, 'lose messages'), about(1, 'away')],
  ...[about(1, 'restart edge'), about(1, 'kill bridge'), about(1, 'end bridge')],
  ...[about(4, '1'), about(6, '200'), about(4, '3000'), about(2, '35000')],
)

/** Words that say less than the edge had heard of that pod: an older state, or any after its end. */
const backwards = (heard: readonly Heard[]): readonly Heard[] => {
  const last = new Map<string, number>()
  return heard.filter(({ operation, uid, image }) => {
    const now = operation === 'delete' ? Infinity : image
    const before = last.get(uid) ?? 0
    last.set(uid, Math.max(now, before))
    return now < before
  })
}

t.test('after any events the edge ends up with what the cluster has', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async steps => {
      const play = new Play(t)
      await play.begin()
      for (const [what, name] of steps) await play.step(what, name)
      await play.calm()
      const { cluster } = play.stage
      const pods = cluster.all(PODS).map(pod => [pod.metadata.name, pod.metadata['uid']])
      const spec = (pod: unknown) => valueAt(pod, 'spec')
      t.strictSame(
        [...play.stage.kept('e1', 'pod')].map(([name, pod]) => [name, spec(pod)]).sort(),
        cluster
          .all(PODS)
          .map(pod => [pod.metadata.name, spec(pod)])
          .sort(),
        'it keeps what is there, as it is',
      )
      t.strictSame(
        Object.entries(play.edge!.view.pods)
          .map(([resource, { uid }]) => [resource.split('/')[2], uid])
          .sort(),
        pods.sort(),
        'and runs that and nothing else',
      )
      const needed = cluster
        .all(PODS)
        .map(pod => textAt((valueAt(pod, 'spec', 'volumes') as unknown[])[0], 'configMap', 'name'))
      for (const name of new Set(needed)) {
        const map = cluster.get(MAPS, inTill(name))
        const kept = play.stage.kept('e1', 'configmap').get(name)
        t.strictSame(
          valueAt(kept, 'data'),
          valueAt(map, 'data'),
          'so are the ConfigMaps of its pods',
        )
      }
      t.strictSame(backwards(play.heard), [], 'in the order of each pod')
      const before = play.stage.bridge!.sent.length
      play.stage.bridge!.cut('e1')
      await play.stage.clock.advance(120_000)
      const more = play.stage.bridge!.sent.slice(before)
      t.strictSame(
        more.filter(({ message: { parentId } }) => parentId === undefined),
        [],
        'another connection finds nothing to send',
      )
      t.ok(play.edge!.view.isConnected)
      play.edge!.kill()
      await play.stage.bridge!.stop(false)
    }),
    { numRuns: 25 },
  )
})
