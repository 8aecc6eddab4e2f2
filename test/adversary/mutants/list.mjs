// SPDX-License-Identifier: Apache-2.0

/**
 * What each repair came to, taken out again: `from` must stand at one place of the file. The numbers are those that the
 * tests' titles begin with (`FA1: …`). `seeds` found it before and are played
 * first; `outOfReach` says why none can, and nothing is played.
 */
export const MUTANTS = [
  {
    fault: 'A1',
    seeds: [12],
    what: 'whoever answers 404 is taken for a SuperEdge agent, and is sent results that prove something for ever',
    patches: [
      {
        file: 'agent/options/exchange-definitions.ts',
        from: "    default: 'off',\n    profiles: { superedge: 'on' },",
        to: "    default: 'on',",
      },
      {
        file: 'agent/stages/exchange/peer-client.ts',
        from: '    if (answer.status === 404 && peer.isSuperEdge) {',
        to: '    if (answer.status === 404) {\n      peer.isSuperEdge = true',
      },
    ],
  },
  {
    fault: 'A2',
    seeds: [5],
    what: 'who is left alone in a zone writes, and takes the marks of others off',
    patches: [
      {
        file: 'agent/stages/write/write-authority.ts',
        from: "    if (!isRegistered)\n      return denied('the apiserver has no Node of our name, so this node is no member')\n    if (state.table.size === 1) return denied('this zone has no other member')\n",
        to: '',
      },
      {
        file: 'agent/stages/write/removed-members.ts',
        from: 'return members.length > 0 && staying.length >= quorumOf(members.length)',
        to: 'return members.length > 0 && staying.length >= Math.min(1, quorumOf(1))',
      },
      {
        file: 'agent/stages/write/removed-members.ts',
        from: '    if (last.zone !== roster.zone) this.#left.clear()\n    else for',
        to: '    for',
      },
      {
        file: 'agent/stages/write/cleaning.ts',
        from: 'store.nodeList.current.isOfZone(node)\n        ? NOTHING\n        : planMarks',
        to: 'planMarks',
      },
      { file: 'vote/writer.ts', from: '  evidence.size > 1 &&\n', to: '' },
    ],
  },
  {
    fault: 'A3',
    seeds: [226],
    what: 'a probe that could not be made counts as up',
    patches: [
      {
        file: 'agent/records/table.ts',
        from: "    if (says === 'not-looked') return this.#dropOwnVote(target, failedRounds)\n",
        to: '',
      },
    ],
  },
  {
    fault: 'A4',
    seeds: [21],
    what: 'any heartbeat in its own name is followed, and blocks for ever',
    patches: [
      {
        file: 'agent/records/heartbeat.ts',
        from: 'if (seen >= this.#value && seen < LEAP_MAX) this.#moveTo(seen + 1)',
        to: 'if (seen >= this.#value) this.#moveTo(seen + 1)',
      },
      {
        file: 'agent/records/heartbeat.ts',
        from: 'saved === undefined || saved > LEAP_MAX ? 1',
        to: 'saved === undefined ? 1',
      },
      {
        file: 'agent/records/table.ts',
        from: 'return isFirstHand && this.#countsAgain(origin, producedAt)',
        to: 'return false',
      },
    ],
  },
  {
    fault: 'A5',
    what: 'strangers make members leave when connections run out',
    outOfReach: 'virtual time has messages, no connections',
    patches: [
      {
        file: 'net/connection-limiter.ts',
        from: '    if (!isMember && present > strangers) return largestOf(others)\n',
        to: '',
      },
      {
        file: 'net/connection-limiter.ts',
        from: '    if (present > 0) return largestOf(others)\n',
        to: '',
      },
    ],
  },
  {
    fault: 'A6',
    seeds: [226],
    what: 'whoever answers at the address is the node',
    patches: [
      {
        file: 'agent/stages/check/identity.ts',
        from: "  if (signedBy === 'another' || signedBy === 'unasked') return 'not-looked'\n  if (signedBy === 'sharer' || signedBy === 'own') return speaks ? 'not-looked' : 'down'\n  return isShared && !(signedBy === 'itself' && speaks) ? 'not-looked' : 'up'",
        to: "  return signedBy === 'own' && isShared && speaks ? 'up' : 'up'",
      },
    ],
  },
  {
    fault: 'A7',
    seeds: [14],
    what: 'an apiserver that refuses is asked again at once',
    patches: [
      {
        file: 'agent/api-backoff.ts',
        from: 'return Math.max(this.#askedUntil, this.#until)',
        to: 'return Math.min(-Infinity, this.#askedUntil, this.#until)',
      },
      {
        file: 'agent/stages/write/request-backoff.ts',
        from: 'own.until = Math.max(this.#clock.now() + asked, this.#api.readyAt) + own.backoff.waitMs()',
        to: 'own.until = this.#clock.now() + Math.min(0, asked)',
      },
    ],
  },
  {
    fault: 'A8',
    seeds: [75],
    what: "a renewal writes the voucher's own idea of the time",
    patches: [
      {
        file: 'agent/stages/write/lease-renewer.ts',
        from: 'serverTime: kube.serverTime(), rank',
        to: 'serverTime: clock.wall(), rank',
      },
      {
        file: 'plan/lease.ts',
        from: 'const at = Math.floor(Math.min(last + Math.max(1, now - seen.changedAt), serverTime))',
        to: 'const at = Math.max(last + 1, serverTime)',
      },
    ],
  },
  {
    fault: 'A9',
    seeds: [5],
    what: 'the stream of changes hears nothing of the roster',
    patches: [
      {
        file: 'agent/views/views.ts',
        from: "    store.records.subscribe(() => onChange('local')),\n",
        to: '',
      },
    ],
  },
  {
    fault: 'A10',
    seeds: [167],
    what: 'a suspension goes unnoticed, and nothing is judged again before a write leaves',
    patches: [
      { file: 'agent/suspension.ts', from: '    this.#seams.onResume()\n', to: '' },
      {
        file: 'agent/stages/write/node-writer.ts',
        from: "    judge()\n    return isWanted() ? undefined : 'it is not what is wanted any more'",
        to: '    void judge\n    void isWanted\n    return undefined',
      },
    ],
  },
  {
    fault: 'A11',
    seeds: [115],
    what: 'an unwell answer of /livez is a cut link, whatever the Lease says',
    patches: [
      {
        file: 'agent/stages/check/cloud-link.ts',
        from: 'await Promise.any([pinged, served()])',
        to: 'await pinged',
      },
      {
        file: 'agent/stages/write/write-authority.ts',
        from: "return isHeld === true ? 'healthy' : desired",
        to: 'return isHeld === true ? desired : desired',
      },
      {
        file: 'agent/stages/write/write-authority.ts',
        from: 'return this.#seams.isHeld(name) === undefined ? Infinity : this.noticedAt(state, index)',
        to: 'return this.noticedAt(state, index) + (name === undefined ? 1 : 0)',
      },
    ],
  },
  {
    fault: 'A12',
    seeds: [21],
    what: 'a disk leads a heartbeat beyond the maximum, which spoils the whole message',
    patches: [
      {
        file: 'agent/records/heartbeat.ts',
        from: 'saved === undefined || saved > LEAP_MAX ? 1',
        to: 'saved === undefined ? 1',
      },
      {
        file: 'agent/stages/exchange/body-reader.ts',
        from: '      hbs[i] = hb\n',
        to: '      if (hb > MAX_HEARTBEAT) return false\n      hbs[i] = hb\n',
      },
    ],
  },
  {
    fault: 'A13',
    seeds: [1],
    what: 'a message held back for minutes is believed as new',
    patches: [
      {
        file: 'agent/stages/exchange/session.ts',
        from: "    if (delayMs > maxDelayMs) return { kind: 'late' }\n",
        to: '',
      },
      {
        file: 'agent/stages/exchange/inbox.ts',
        from: 'membership.take(message, peer, now - admission.delayMs)',
        to: 'membership.take(message, peer, now)',
      },
    ],
  },
  {
    fault: 'A14',
    seeds: [11],
    what: 'a number that was used before is refused, and nothing more is said',
    patches: [
      {
        file: 'agent/stages/exchange/inbox.ts',
        from: "    if (admission.kind !== 'accepted') return",
        to: "    if (admission.kind === 'replayed') return this.#refuse('replayed', peer)\n    if (admission.kind !== 'accepted') return",
      },
    ],
  },
  {
    fault: 'A15',
    seeds: [24],
    what: 'the listener for peers stays where it is',
    patches: [
      {
        file: 'agent/http/peer-listener.ts',
        from: '    this.#moving = this.#move(address, this.#want(address))\n',
        to: '',
      },
    ],
  },
  {
    fault: 'A16',
    seeds: [175],
    what: 'the marks of a link that comes and goes come and go',
    patches: [
      {
        file: 'agent/stages/write/link-flaps.ts',
        from: '!flaps.isUp || flaps.cuts < 2) return -Infinity',
        to: '!flaps.isUp || flaps.cuts > 0) return -Infinity',
      },
    ],
  },
  {
    fault: 'A17',
    seeds: [362],
    what: "a node's own isolation is held against its peers",
    patches: [
      {
        file: 'agent/stages/check/target-history.ts',
        from: 'if (this.#state.isDown && this.#fellAt >= sinceAt) this.#flaps = this.#flapsBefore',
        to: 'if (this.#fellAt === sinceAt) this.#flaps = this.#flapsBefore',
      },
    ],
  },
  {
    fault: 'A18',
    seeds: [10],
    what: 'a kubelet that has no healthz port is bad',
    patches: [
      {
        file: 'agent/stages/check/self-report.ts',
        from: 'if (!isRefused || this.#wasWell) return found',
        to: 'if (!isRefused || this.#wasWell || isRefused) return found',
      },
    ],
  },
  {
    fault: 'A20',
    seeds: [180],
    what: 'who is in other units too is a member here as well',
    patches: [
      {
        file: 'agent/stages/node-list/zone-rule.ts',
        from: "[selector, ...otherUnits.map(unit => `${unit}!=${UNIT_LABEL_VALUE}`)].join(',')",
        to: 'selector + otherUnits.slice(0, 0).join()',
      },
      {
        file: 'agent/stages/node-list/zone-rule.ts',
        from: 'parseLabelSelector(rule.selector)(new Map(Object.entries(labels))) &&\n  !isInOtherUnit(labels, rule.otherUnits)',
        to: 'parseLabelSelector(rule.selector)(new Map(Object.entries(labels)))',
      },
    ],
  },
  {
    fault: 'A21',
    seeds: [27],
    what: 'what was written about a node is kept when it leaves',
    patches: [
      {
        file: 'agent/stages/write/stage.ts',
        from: '    store.writes.set(membersOnly(store.writes.current, records?.roster)),\n',
        to: '    void records,\n',
      },
      {
        file: 'agent/stages/write/stage.ts',
        from: 'store.writes.set(membersOnly(next, store.nodeList.current.roster))',
        to: 'store.writes.set(next)',
      },
    ],
  },
  {
    fault: 'A22',
    seeds: [449],
    what: 'whatever an apiserver writes where seconds belong is waited for',
    patches: [
      {
        file: 'kube/client/retry-after.ts',
        from: "typeof seconds === 'number' && !Number.isNaN(seconds) ? bounded(seconds * 1_000) : undefined",
        to: 'seconds === undefined ? undefined : Number(seconds) * 1_000',
      },
    ],
  },
  {
    fault: 'A23',
    what: 'bodies of strangers may take the memory of members',
    outOfReach:
      'it takes 350 nodes, or bodies that are sent slowly; zones here have seven and whole messages',
    patches: [
      {
        file: 'net/byte-budget.ts',
        from: 'const limit = isMember ? total : total - reserved',
        to: 'const limit = isMember ? total : total + reserved',
      },
    ],
  },
  {
    fault: 'A24',
    seeds: [128],
    what: 'the witness of two has one voice for a node whose own word does not come',
    patches: [
      {
        file: 'vote/majority.ts',
        from: 'up += voicesOfWitness(judgement, evidence, target)',
        to: 'up += Math.min(1, voicesOfWitness(judgement, evidence, target))',
      },
    ],
  },
  {
    fault: 'A25',
    seeds: [17],
    what: "the apiserver's clock is no bound",
    patches: [
      {
        file: 'agent/stages/write/lease-renewer.ts',
        from: 'serverTime: kube.serverTime(), rank',
        to: 'serverTime: 4e12, rank',
      },
    ],
  },
  {
    fault: 'A26',
    seeds: [4949, 2182, 4072],
    what: 'who lost its keys says nothing to who lacks the new ones while it hears that one through others',
    patches: [
      {
        file: 'agent/stages/exchange/peer-client.ts',
        from: 'return isLacking || (KEYLESS.has(status) && membership.mayLackKeys(peer))',
        to: 'return KEYLESS.has(status) && membership.mayLackKeys(peer)',
      },
      {
        file: 'agent/stages/exchange/inbox.ts',
        from: 'membership.mayLackKeys(peer) || membership.lacksOurKeys(peer)',
        to: 'membership.mayLackKeys(peer)',
      },
    ],
  },
]
