import { expect, it } from 'vitest'
import { memoryStorage, metadata, once, task, wait } from 'waitpoint'
import { type Body, explore } from 'waitpoint/testing'
import { isPromise } from '../../src/primitives/awaitable.ts'
import type { Setting } from '../../src/testing/exploration/setting.ts'
import type { World } from '../../src/testing/exploration/world.ts'
import { exploreIn } from '../../src/testing/explore.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'
import { isFarAway, steadyStorage } from '../support/abandon.ts'
import { CASES, PATIENCE } from '../support/program-laws.ts'

/** A parent waits for two children, of which each takes longer than a lease. */
const family: Body = async (t) => {
  const part = task({
    id: 'part',
    run: async (minutes: number) => {
      await t.clock.sleep(`${minutes}m`)
      return minutes
    },
  })
  const whole = task({
    id: 'whole',
    run: async (_: null) => {
      const one = async (minutes: number): Promise<void> => {
        const result = await part.triggerAndWait(minutes).unwrap()
        const list = (metadata.get('done') ?? []) as number[]
        await t.step('audit')
        if (!list.includes(result)) metadata.append('done', result)
      }
      metadata.set('done', [])
      await Promise.all([one(10), one(20)])
      return metadata.get('done')
    },
  })
  t.use(part, whole)
  await (await t.engine.trigger(whole, null)).outcome()
}

/** The second wait is out when the engine loses its lease. The run does not park before it is answered. */
const LATE_WAIT = [
  'v1',
  'next@body/runs.insert#1>engine/runs.claim#1',
  'crash@engine/runs.claim#1>before',
  'next@body/runs.insert#2>engine/runs.claim#2',
  'next@whole/runs.insert#1>whole/runs.insert#2',
  'next@whole/runs.insert#1>engine/runs.claim#4',
  'next@whole/tokens.await#2>time/parking#1',
  'next@whole/tokens.await#2>time/part~2 slept 10m#1',
  'next@whole/tokens.await#2>part~2/runs.update#1',
  'next@whole/tokens.await#2>part~2/runs.get#1',
  'next@whole/tokens.await#2>engine/tick#1',
  'next@whole/tokens.await#2>engine/tick#2',
  'next@whole/tokens.await#2>engine/tick#3',
  'next@whole/tokens.await#2>engine/runs.claim#6',
]

it('a run whose second wait outlasts the lease of its engine comes to an end', async () => {
  const told = await explore(family, { crashes: 'every-commit', replay: LATE_WAIT.join('|') }).then(
    () => 'it has come to an end',
    String,
  )
  expect(told).toBe('it has come to an end')
})

const part = task({
  id: 'part',
  run: async (text: string) => {
    await wait.for({ seconds: 10 })
    return text
  },
})

/** The answer to a question of this name. */
async function ask(name: string): Promise<string> {
  const answer = await wait.forToken<string>(await wait.createToken({ tags: [name], timeout: '30d' }))
  return answer.ok ? answer.output : 'nothing'
}

async function* abc(): AsyncGenerator<string> {
  for (const word of ['a', 'b', 'c']) yield word
}

async function spoken(): Promise<string> {
  let text = ''
  for await (const word of await metadata.stream('words', abc())) text += word
  return text
}

/** Everything that can be lost with a lease, some of it beside each other. */
const all = task({
  id: 'all',
  run: async (_: null) => {
    metadata.set('began', true)
    const effect = await once('effect', () => 'effect')
    const together = await Promise.all([
      part.triggerAndWait('part').unwrap(),
      ask('one').then(async (answer) => answer + (await ask('two'))),
      wait.for({ seconds: 20 }).then(() => 'slept'),
      spoken(),
    ])
    const said = [effect, ...together, await ask('three')].join(' ')
    metadata.set('said', said)
    return said
  },
})

/** A run says what became of its questions, both runs are over, and nothing that was acknowledged is lost. */
const allEnds: Body = async (t) => {
  // The lease of an engine that is alone has no end.
  await t.elsewhere.ready()
  const run = await t.engine.trigger(all, null)
  const names = ['one', 'two', 'three']
  const completed = names.map((tag) => t.complete({ tag }, tag))
  const said = await run.result()
  const acknowledged = await Promise.all(completed)
  const answers: string[] = []
  for (const [at, tags] of names.entries()) {
    const { data } = await t.engine.wait.listTokens({ tags })
    expect(data).toHaveLength(1)
    const isAnswered = data[0]?.status === 'COMPLETED'
    if (acknowledged[at]?.success === true) expect(isAnswered).toBe(true)
    answers.push(isAnswered ? tags : 'nothing')
  }
  expect(said).toBe(`effect part ${answers[0]}${answers[1]} slept abc ${answers[2]}`)
  expect((await t.engine.runs.retrieve(run)).metadata).toEqual({ began: true, said })
  const { data: runs } = await t.engine.runs.list()
  expect(runs.map(({ status }) => status)).toEqual(['COMPLETED', 'COMPLETED'])
}

/**
 * The storage of the project; a schedule waits for its answers, however long they take. Over a wire their order is a matter of luck, which an
 * exploration refuses: Postgres is judged by random worlds.
 */
function stored({ boundaries }: World): Setting {
  let answered: Promise<unknown> | undefined
  const storage = wrapStorage(
    isFarAway() ? memoryStorage() : steadyStorage(),
    (_name, operation) =>
      (...args) => {
        const answer = operation(...args)
        if (isPromise(answer)) {
          answered = Promise.allSettled([answered, answer])
          void boundaries.load(answered)
        }
        return answer
      },
  )
  return { storage, clockSkewMs: 0, starting: () => ({}), started: () => undefined, over: () => undefined }
}

const SCHEDULES = Math.ceil(CASES / 4)

it(
  'an attempt that loses its lease is over or whole, with crashes at every write and calls that outlast leases',
  PATIENCE,
  async () => {
    const { runs } = await exploreIn(stored, allEnds, {
      tasks: [all, part],
      // Time that passes while a call is out goes to the end of a wait: a lease ends before that.
      leaseMs: 3_000,
      crashes: 'every-commit',
      faults: ['late', 'lost', 'error'],
      // A process may die more often than a run may be interrupted.
      maxInterruptions: 1_000,
      decider: 'random',
      seed: process.env['WAITPOINT_PROPERTY_SEED'] ?? 1,
      budget: { runs: SCHEDULES, ms: Infinity },
    })
    expect(runs).toBe(SCHEDULES)
  },
)
