import { task, wait } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import type { Contest, Contestant } from '../contest.ts'
import type { Figure, Lab } from '../lab.ts'
import type { Measurement, Omission } from '../measurement.ts'
import { besidePeer } from '../peers/beside-peer.ts'
import { effectTestClock, fakeTimers, type VirtualSleepers } from '../peers/virtual-sleepers.ts'

interface Pairing {
  readonly peer: VirtualSleepers
  readonly contest: Contest<'ours' | 'peer'>
}

const RUNS = 10_000

const pairings = [fakeTimers, effectTestClock].map((peer): Pairing => ({
  peer,
  contest: {
    name: `run that times out after 30 days, beside ${peer.name}`,
    count: RUNS,
    rounds: 5,
    warmUps: 1,
    mostMs: 20_000,
    sides: { ours: timeOutOurs, peer: (count) => peer.open(count) },
  },
}))

interface Load {
  readonly contest: Contest<'ours'>
  /** The limit of the CPU time for one run, in nanoseconds. */
  readonly mostCpuNs: number
}

const loads: readonly Load[] = [
  {
    contest: {
      name: 'CPU of a run that times out after 30 days, alone',
      count: 2_000,
      rounds: 10,
      warmUps: 5,
      sides: { ours: timeOutOneByOne },
    },
    mostCpuNs: 38_000,
  },
  {
    contest: {
      name: `CPU of a run that times out after 30 days, ${RUNS.toLocaleString('en-US')} at once`,
      count: RUNS,
      rounds: 10,
      warmUps: 2,
      sides: { ours: timeOutOurs },
    },
    mostCpuNs: 55_000,
  },
]

/** Days that pass in a test: runs that wait for a token that is never completed. */
export const virtualTime: Figure = {
  name: 'virtual-time',
  contests: [...loads, ...pairings].map(({ contest }) => contest),
  async measure(lab) {
    const lines: (Measurement | Omission)[] = []
    for (const load of loads) lines.push(await measureCpu(lab, load))
    for (const pairing of pairings) lines.push(await compare(lab, pairing))
    return lines
  },
}

/** The CPU time is what counts: a suite has as many processes as the machine has cores. */
async function measureCpu(lab: Lab, { contest, mostCpuNs }: Load): Promise<Measurement> {
  const { ours } = await lab.hold(contest)
  return {
    what: contest.name,
    unit: 'ns',
    count: lab.count(contest.count),
    ours: { values: ours.cpu ?? [] },
    goal: { kind: 'value', most: mostCpuNs },
  }
}

function compare(lab: Lab, { peer, contest }: Pairing): Promise<Measurement | Omission> {
  return besidePeer(lab, { peer, what: contest.name }, async () => {
    const { ours, peer: bare } = await lab.hold(contest)
    return { unit: 'ns', count: lab.count(RUNS), ours, bare }
  })
}

const patience = task({
  id: 'patience',
  run: async (_: null) => {
    const { ok } = await wait.forToken(await wait.createToken({ timeout: '30d' }))
    return ok
  },
})

/** With its own engine, as in a test. Its clock moves on by itself when no code has anything left to do. */
function timeOutOurs(count: number): Contestant {
  return {
    pass: async () => {
      const t = await createTestEngine({ tasks: [patience] })
      const started = await Promise.all(Array.from({ length: count }, () => t.engine.trigger(patience, null)))
      await Promise.all(started.map((run) => run.result()))
      await t.close()
    },
  }
}

/** Each run begins when the one before has timed out. */
function timeOutOneByOne(count: number): Contestant {
  return {
    pass: async () => {
      const t = await createTestEngine({ tasks: [patience] })
      for (let run = 0; run < count; run++) await (await t.engine.trigger(patience, null)).result()
      await t.close()
    },
  }
}
