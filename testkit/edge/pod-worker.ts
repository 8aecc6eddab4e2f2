// SPDX-License-Identifier: Apache-2.0
import { sleep } from '../../core/clock.js'
import { textAt, valueAt } from '../../core/json-at.js'
import { podPatch, type PodPhase } from './bodies.js'
import type { EdgePart } from './edge-part.js'
import { referencesOf, type Reference } from './references.js'
import { outcomeOf } from './requests.js'

/** What one pod's worker knows of it. */
export interface PodView {
  readonly uid: string
  readonly phase: PodPhase
  /** Mounted although the cloud's answer was an error: an empty volume in a running container. */
  readonly emptyMounts: readonly string[]
  /** What it waits for before it starts. */
  readonly waitsFor: string | undefined
}

/** Runs one pod: mounts what it refers to, reports its status, ends it when it is deleted. */
export class PodWorker {
  readonly #part: EdgePart
  readonly #resource: string
  readonly #namespace: string
  readonly #life = new AbortController()
  #pod: unknown
  #phase: PodPhase = 'Pending'
  #isTerminating = false
  #waitsFor: string | undefined
  readonly #emptyMounts: string[] = []
  /** The status that the cloud has not taken yet. */
  #unreported = false

  constructor(part: EdgePart, resource: string, pod: unknown) {
    this.#part = part
    this.#resource = resource
    this.#namespace = resource.split('/', 1)[0]!
    this.#pod = pod
    part.signal.addEventListener('abort', () => this.#life.abort(), { once: true })
  }

  get view(): PodView {
    return {
      uid: textAt(this.#pod, 'metadata', 'uid'),
      phase: this.#phase,
      emptyMounts: [...this.#emptyMounts],
      waitsFor: this.#waitsFor,
    }
  }

  async run(): Promise<void> {
    const { clock, times } = this.#part
    const { signal } = this.#life
    if (this.#isBeingDeleted()) {
      await this.#terminate()
      return
    }
    if (!(await sleep(clock, times.podAdmitMs, signal))) return
    void this.#report('Pending')
    for (const reference of referencesOf(this.#pod)) if (!(await this.#mount(reference))) return
    if (!(await sleep(clock, times.podStartMs, signal)) || this.#isTerminating) return
    await this.#report('Running')
  }

  /** A newer form of the same pod. */
  changed(pod: unknown): void {
    this.#pod = pod
    if (this.#isBeingDeleted()) void this.#terminate()
  }

  /** The cloud took it away. */
  removed(): void {
    this.#life.abort()
  }

  /** The connection is back: what the cloud has not been told is told now. */
  reconnected(): void {
    if (this.#unreported) void this.#report(this.#phase)
    if (this.#isTerminating) void this.#delete()
  }

  #isBeingDeleted(): boolean {
    return textAt(this.#pod, 'metadata', 'deletionTimestamp') !== ''
  }

  /** @returns false when the pod ended meanwhile */
  async #mount({ type, name, content }: Reference): Promise<boolean> {
    const { clock, times, store, ask } = this.#part
    const resource = `${this.#namespace}/${type}/${name}`
    for (
      let waitMs = times.mountRetryMs;
      store.get(resource) === undefined;
      waitMs = Math.min(2 * waitMs, times.longestMountRetryMs)
    ) {
      this.#waitsFor = resource
      const answer = await ask({ operation: 'query', resource }, content)
      // The store took it, or it failed.
      if (answer.kind === 'answered' && store.get(resource) !== undefined) break
      if (!(await sleep(clock, waitMs, this.#life.signal))) return false
    }
    this.#waitsFor = undefined
    if (valueAt(store.get(resource), 'ErrStatus') !== undefined) this.#emptyMounts.push(resource)
    return !this.#life.signal.aborted
  }

  async #report(phase: PodPhase): Promise<void> {
    const { ip, clock, ask, emit } = this.#part
    if (phase !== this.#phase || phase === 'Pending')
      emit({ kind: 'pod', resource: this.#resource, phase })
    this.#phase = phase
    this.#unreported = true
    const text = podPatch(this.#pod, phase, ip, clock.wall())
    const [namespace, , name] = this.#resource.split('/')
    const resource = `${namespace}/podpatch/${name}`
    const outcome = outcomeOf(await ask({ operation: 'patch', resource }, text))
    if ((outcome.ok || outcome.code === 404) && this.#phase === phase) this.#unreported = false
  }

  async #terminate(): Promise<void> {
    if (this.#isTerminating) return
    this.#isTerminating = true
    const { clock, times } = this.#part
    if (!(await sleep(clock, times.podStopMs, this.#life.signal))) return
    await this.#report('Succeeded')
    await this.#delete()
  }

  async #delete(): Promise<void> {
    const uid = textAt(this.#pod, 'metadata', 'uid')
    if (this.#life.signal.aborted) return
    await this.#part.ask(
      { operation: 'delete', resource: this.#resource },
      { gracePeriodSeconds: 0, preconditions: { uid } },
    )
  }
}
