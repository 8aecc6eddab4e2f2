// SPDX-License-Identifier: Apache-2.0

/**
 * What each repair came to, taken out again: `from` must stand at one place of the file. The numbers are those that the
 * tests' titles begin with (`FA1: …`).
 */
export const MUTANTS = [
  {
    fault: 'A1',
    what: 'whoever answers 404 is taken for a SuperEdge agent, and is sent results that prove something for ever',
    patches: [
      {
        file: 'agent/options/exchange-definitions.ts',
        from: "    default: 'off',\n    profiles: { superedge: 'on' },",
        to: "    default: 'on',",
      },
      {
        file: 'agent/commun/courier.ts',
        from: '    if (answer.status === 404 && peer.isSuperEdge) {',
        to: '    if (answer.status === 404) {\n      peer.isSuperEdge = true',
      },
    ],
  },
  {
    fault: 'A4',
    what: 'any heartbeat in its own name is followed, and blocks for ever',
    patches: [
      {
        file: 'agent/commun/heartbeat.ts',
        from: 'if (seen >= this.#value && seen < LEAP_MAX) this.#moveTo(seen + 1)',
        to: 'if (seen >= this.#value) this.#moveTo(seen + 1)',
      },
      {
        file: 'agent/commun/heartbeat.ts',
        from: 'saved === undefined || saved > LEAP_MAX ? 1',
        to: 'saved === undefined ? 1',
      },
      {
        file: 'agent/commun/table.ts',
        from: 'return isFirstHand && producedAt > expired && this.producedAt[origin]! <= expired',
        to: 'return false',
      },
    ],
  },
  {
    fault: 'A10',
    what: 'a suspension goes unnoticed, and nothing is judged again before a write leaves',
    patches: [
      { file: 'agent/suspension.ts', from: '    this.#seams.onResume()\n', to: '' },
      {
        file: 'agent/writer/node-writer.ts',
        from: '    judge()\n    return isWanted()',
        to: '    return true || isWanted()',
      },
    ],
  },
  {
    fault: 'A12',
    what: 'a disk leads a heartbeat beyond the maximum, which spoils the whole message',
    patches: [
      {
        file: 'agent/commun/heartbeat.ts',
        from: 'saved === undefined || saved > LEAP_MAX ? 1',
        to: 'saved === undefined ? 1',
      },
      {
        file: 'agent/commun/body.ts',
        from: "return draft.hb <= MAX_HEARTBEAT ? 'record' : 'nothing'",
        to: "return draft.hb <= MAX_HEARTBEAT ? 'record' : 'bad'",
      },
    ],
  },
  {
    fault: 'A13',
    what: 'a message held back for minutes is believed as new',
    patches: [
      {
        file: 'agent/commun/session.ts',
        from: "    if (delayMs < 0 || delayMs > maxDelayMs) return { kind: 'late' }\n",
        to: '',
      },
      {
        file: 'agent/commun/inbox.ts',
        from: 'x.take(message, peer, x.now - admission.delayMs)',
        to: 'x.take(message, peer, x.now)',
      },
    ],
  },
  {
    fault: 'A14',
    what: 'a number that was used before is refused, and nothing more is said',
    patches: [
      {
        file: 'agent/commun/inbox.ts',
        from: "    if (admission.kind !== 'accepted') return",
        to: "    if (admission.kind === 'replayed') return this.#refuse('replayed', peer)\n    if (admission.kind !== 'accepted') return",
      },
    ],
  },
  {
    fault: 'A8',
    what: "a renewal writes the voucher's own idea of the time",
    patches: [
      {
        file: 'agent/writer/lease-keeper.ts',
        from: '      serverTime: kube.serverTime(),',
        to: '      serverTime: clock.wall(),',
      },
      {
        file: 'vote/lease.ts',
        from: 'const at = Math.floor(Math.min(last + Math.max(1, now - seen.changedAt), serverTime))',
        to: 'const at = Math.max(last + 1, serverTime)',
      },
    ],
  },
  {
    fault: 'A25',
    what: "the apiserver's clock is no bound",
    patches: [
      {
        file: 'agent/writer/lease-keeper.ts',
        from: '      serverTime: kube.serverTime(),',
        to: '      serverTime: 4e12,',
      },
    ],
  },
]
