import type { TokenRecord } from '../../../../src/contract/records.ts'
import { memoryStorage } from '../../../../src/storage/memory/memory.ts'
import { type Break, type Memory, tickLike } from './broken-storage.ts'
import { attempted, claimedLike, doneBefore } from './claims.ts'

/** With claims that leave out parked runs which `isForgotten`. */
function forgetting(isForgotten: (memory: Memory, runId: string) => boolean): Break {
  return (memory) => ({
    runs: {
      claim(claim) {
        const parked = attempted(memory).filter(({ status }) => status === 'WAITING')
        const forgotten = parked.filter(({ id }) => isForgotten(memory, id)).map(({ id }) => id)
        const claimed = memory.runs.claim(claim)
        return { ...claimed, runs: claimed.runs.filter(({ id }) => !forgotten.includes(id)) }
      },
    },
  })
}

const forgetsThatChildrenWake: Break = (memory) => {
  const parents = new Set<string>()
  const claims = forgetting((_, runId) => parents.has(runId))(memory)
  return {
    ...claims,
    tokens: {
      await(request) {
        if (request.tokenId.startsWith('run:')) parents.add(request.runId)
        return memory.tokens.await(request)
      },
    },
  }
}

const lostOwnersComeBack: Break = (memory) => ({
  tick(request) {
    const ticked = memory.tick(request)
    if (ticked.alive) return ticked
    memory.leave(request)
    return memory.tick(request)
  },
})

const leasesAreNotRenewed: Break = (memory) => {
  const first = new Map<string, number>()
  return {
    tick(request) {
      const leaseUntil = first.get(request.owner) ?? request.leaseUntil
      first.set(request.owner, leaseUntil)
      return memory.tick({ ...request, leaseUntil })
    },
  }
}

const settlesForTheDead: Break = (memory) => {
  const ends = new Map<string, number>()
  const claims = doneBefore((_, { by, now }) => {
    for (const { id, owner = '', status } of attempted(memory)) {
      if (status !== 'WAITING' || (ends.get(owner) ?? Infinity) > now) continue
      for (const token of memory.runs.waits(id))
        memory.tokens.settle({ id: token.id, outputJson: '', by, now })
    }
  })(memory)
  return {
    ...claims,
    tick(request) {
      ends.set(request.owner, request.leaseUntil)
      return memory.tick(request)
    },
  }
}

const oldWaitsAreListed: Break = (memory) => {
  const old = new Map<string, readonly TokenRecord[]>()
  return {
    runs: {
      claim(claim) {
        const before = attempted(memory).map(({ id }) => [id, memory.runs.waits(id)] as const)
        const claimed = memory.runs.claim(claim)
        for (const [id, waits] of before) if (claimed.runs.some((run) => run.id === id)) old.set(id, waits)
        return claimed
      },
      waits: (id) => [...(old.get(id) ?? []), ...memory.runs.waits(id)],
    },
  }
}

const orphansCanBeReleased: Break = (memory) => {
  const released = new Set<string>()
  const claims = forgetting((_, runId) => released.has(runId))(memory)
  return {
    ...claims,
    tokens: {
      release(waits) {
        for (const { runId } of waits) if (memory.runs.get(runId)?.owner === undefined) released.add(runId)
        memory.tokens.release(waits)
      },
    },
  }
}

export const brokenOwners: Readonly<Record<string, Break>> = {
  'owners/executing-runs-are-interrupted': claimedLike(({ runs }) => ({
    runs: runs.map((run) => (run.interruptions > 0 ? { ...run, policyAttempt: run.attempt } : run)),
  })),
  'owners/lost-leases-are-told': lostOwnersComeBack,
  'owners/ticks-renew-leases': leasesAreNotRenewed,
  'owners/interrupted-runs-come-first': claimedLike(({ runs }) => ({
    runs: [...runs].sort((one, other) => one.createdAt - other.createdAt),
  })),
  'owners/crashed-past-max-interruptions': (memory) => ({
    runs: { claim: (claim) => memory.runs.claim({ ...claim, maxInterruptions: Infinity }) },
  }),
  'owners/returned-runs-complete': claimedLike(({ ended }) => ({
    ended: ended.filter(({ record }) => record.status !== 'COMPLETED'),
  })),
  'owners/parked-runs-stay-asleep': settlesForTheDead,
  'owners/settled-waits-wake-parked-runs': forgetting((memory, id) => memory.runs.waits(id).length === 0),
  'owners/due-waits-wake-parked-runs': forgetting((memory, id) => memory.runs.waits(id).length > 0),
  'owners/ended-children-wake-parked-runs': forgetsThatChildrenWake,
  'owners/old-waits-are-dropped': oldWaitsAreListed,
  'tokens.release/orphans-keep-their-waits': orphansCanBeReleased,
  'tick/endless-lease': (memory) => ({ tick: (request) => memory.tick({ ...request, endless: false }) }),
}

const readyIsHandedOverOnce: Break = (memory) => {
  const seen = new Set<string>()
  return {
    tick(request) {
      const ticked = memory.tick(request)
      const fresh = ticked.ready.filter((wait) => !seen.has(JSON.stringify(wait)))
      for (const wait of fresh) seen.add(JSON.stringify(wait))
      return { ...ticked, ready: fresh }
    },
  }
}

const ticksListWhatOthersSettled: Break = (memory) => {
  const late: TokenRecord[] = []
  return {
    tokens: {
      settle(request) {
        const settled = memory.tokens.settle(request)
        if (typeof settled === 'object' && !settled.won && settled.settledNow) late.push(settled.record)
        return settled
      },
    },
    tick(request) {
      const ticked = memory.tick(request)
      return { ...ticked, settled: [...ticked.settled, ...late] }
    },
  }
}

const dueStaysDue: Break = (memory) => {
  let last: ReturnType<Memory['tick']>['nextDue']
  return {
    tick(request) {
      const ticked = memory.tick(request)
      last = ticked.nextDue ?? last
      return { ...ticked, nextDue: last }
    },
  }
}

export const brokenTicks: Readonly<Record<string, Break>> = {
  'leases/lists-engines': (memory) => {
    const last = new Map<string, number>()
    return {
      tick(request) {
        last.set(request.owner, request.leaseUntil)
        return memory.tick(request)
      },
      // Those that have left are still there.
      leases: () => Array.from(last, ([owner, until]) => ({ owner, until, isLost: false })),
    }
  },
  // The last ones.
  'due/lists-what-is-next': () => {
    const { due, ...memory } = memoryStorage()
    return { ...memory, due: async (limit) => [...((await due?.(100)) ?? [])].slice(-limit) }
  },
  'tick/hands-ready-waits-over-until-released': readyIsHandedOverOnce,
  'tick/settles-what-is-due': tickLike(({ ready, settled }) => ({
    ready: ready.filter((wait) => !settled.some(({ id }) => id === wait.tokenId)),
  })),
  'tick/settles-at-most-limit': (memory) => ({
    tick: (request) => memory.tick({ ...request, limit: Infinity }),
  }),
  'tick/tells-once': ticksListWhatOthersSettled,
  'tick/expires-what-never-started': tickLike(({ expired }) => ({
    expired: expired.map(({ record }) => ({ record, ready: [] })),
  })),
  'tick/claimable': tickLike(() => ({ claimable: false })),
  'tick/nothing-claimable': tickLike(({ alive }) => ({ claimable: alive })),
  'tick/next-due': tickLike(({ nextDue }) => ({
    nextDue: nextDue?.what.startsWith('run ') === true ? undefined : nextDue,
  })),
  'tick/next-due-forgets-what-is-settled': dueStaysDue,
  'tick/census': tickLike((_, { census }) => (census === true ? { held: 0 } : {})),
  'tick/next-lease': tickLike(({ nextLease }, { endless }) =>
    endless === true ? { nextLease } : { nextLease: undefined },
  ),
}
