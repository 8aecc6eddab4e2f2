// SPDX-License-Identifier: Apache-2.0
import { isOlderVersion, versionNumber } from './version-order.js'

/** Watches that end within this time of each other end for one reason. */
const AT_ONCE_MS = 1_000

/** A list/watch that can be told that it follows another store than before. */
export interface StoreFollower {
  /** Whether a watch of it is open, over a connection that may be dead all the same. */
  readonly isWatching: boolean
  /** Reads the store's present version; '' where that cannot be known. */
  presentVersion(): Promise<string>
  /** The newest version that it has received of its own resource. */
  readonly newest: string | undefined
  /** List everything again, from the store itself. */
  listAgain(): void
}

/**
 * How far the store has come, as all watches of one client have seen it. If it is less far after an outage, it was restored
 * from a backup. A single watch notices that late, or never: a watch from a version that was lost is silent until the
 * restored store has come as far, and then goes on as if nothing had happened.
 */
export class StoreProgress {
  readonly #followers = new Set<StoreFollower>()
  /** Those that have not listed since the store went back. */
  readonly #behind = new Set<StoreFollower>()
  #newest: bigint | undefined
  /** Who received the newest. */
  #farthest: StoreFollower | undefined
  #isInDoubt = false
  /** Doubts so far: an answer to a question asked before the last doubt does not end it. */
  #doubts = 0
  /** Followers that asked how far the store is, and got no version. */
  readonly #vain = new Set<StoreFollower>()
  #brokeAt = -Infinity
  #checking: Promise<void> | undefined
  #isAskingWatchers = false

  follow(follower: StoreFollower): void {
    this.#followers.add(follower)
  }

  leave(follower: StoreFollower): void {
    this.#followers.delete(follower)
    this.#behind.delete(follower)
    this.#vain.delete(follower)
    if (this.#farthest === follower) this.#farthest = undefined
  }

  /** Why what the watches know may be of another store; undefined when it is not. */
  get trouble(): string | undefined {
    if (this.#isInDoubt) return 'the apiserver was away, and may have another store now'
    return this.#behind.size > 0 ? 'the store was restored, and is being listed again' : undefined
  }

  /** A follower has received a version. */
  reached(follower: StoreFollower, version: string): void {
    const number = versionNumber(version)
    if (number === undefined || number <= (this.#newest ?? -1n)) return
    this.#newest = number
    this.#farthest = follower
  }

  /**
   * A watch was ended before its time. If another one was a moment ago, the server itself has gone.
   * @param now Clock.now
   */
  broke(now: number): void {
    if (now - this.#brokeAt < AT_ONCE_MS) this.#doubt()
    this.#brokeAt = now
  }

  /** Nobody answered for the server: the next one that answers may have another store. */
  wasAway(): void {
    this.#doubt()
    void this.#askWatchers()
  }

  /**
   * Called before anything is resumed: after an outage, look how far the store is now. Another follower's answer is enough,
   * unless that one got no version. Rejects if the server cannot be asked.
   */
  async check(follower: StoreFollower): Promise<void> {
    let isOwn = false
    try {
      while (this.#isInDoubt && !isOwn) {
        isOwn = this.#checking === undefined
        await (this.#checking ?? this.#begin(follower))
      }
    } finally {
      void this.#askWatchers()
    }
  }

  /** A follower has listed, and may have found an older store than it knew. */
  listed(follower: StoreFollower, version: string, isOlder: boolean): void {
    if (isOlder) this.#wentBack(version, follower)
    this.#behind.delete(follower)
    this.reached(follower, version)
  }

  /** The server does not let this follower list, or its lists are unusable: nobody waits for it. */
  refused(follower: StoreFollower): void {
    this.#behind.delete(follower)
  }

  #doubt(): void {
    this.#isInDoubt = this.#newest !== undefined
    this.#doubts++
    this.#vain.clear()
  }

  /**
   * If only one resource is unavailable, the others' followers can tell that the server is there. By themselves they would
   * not look before their watches end, hours from now. An open watch is not enough: it may be of a server that is gone.
   */
  async #askWatchers(): Promise<void> {
    if (this.#isAskingWatchers) return
    this.#isAskingWatchers = true
    for (const follower of this.#followers)
      if (this.#isInDoubt && follower.isWatching) await this.check(follower).catch(() => undefined)
    this.#isAskingWatchers = false
  }

  #begin(follower: StoreFollower): Promise<void> {
    this.#checking = this.#check(follower).finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #check(follower: StoreFollower): Promise<void> {
    const [newest, own = '', doubts] = [this.#newest, follower.newest, this.#doubts]
    const version = await follower.presentVersion()
    if (doubts !== this.#doubts) return this.#check(follower)
    if (version === '') this.#vain.add(follower)
    // Where one resource is gone another one may tell.
    if (version === '' && this.#vain.size < this.#followers.size) return
    const isBack =
      this.#isBehind(version, newest) &&
      (isOlderVersion(version, own) || !(await this.#isAside(follower)))
    if (doubts !== this.#doubts) return this.#check(follower)
    this.#isInDoubt = false
    if (isBack) this.#wentBack(version)
  }

  /**
   * @param before the newest version when it was asked: an open watch may have received something newer while the answer
   * was on its way, or another follower may have found the older store
   */
  #isBehind(version: string, before = 0n): boolean {
    const [present, newest] = [versionNumber(version), this.#newest]
    if (present === undefined || newest === undefined) return false
    return present < before && present < newest
  }

  /**
   * Whether this follower's resource is in an etcd of its own (`--etcd-servers-overrides`), whose versions say nothing of the
   * others': the resource that had come farthest has not gone back. Where that cannot be known a list too many does less harm.
   */
  async #isAside(follower: StoreFollower): Promise<boolean> {
    const [farthest, newest] = [this.#farthest, this.#newest]
    if (farthest === undefined || farthest === follower) return false
    const version = await farthest.presentVersion().catch(() => '')
    return version !== '' && !this.#isBehind(version, newest)
  }

  #wentBack(version: string, noticedBy?: StoreFollower): void {
    this.#newest = versionNumber(version)
    this.#farthest = noticedBy
    for (const follower of this.#followers) {
      if (follower === noticedBy) continue
      this.#behind.add(follower)
      follower.listAgain()
    }
  }
}
