import { describe, expect, it } from 'vitest'
import { type AnyTask, metadata, once, streams, task, wait } from 'waitpoint'
import { type Body, explore } from 'waitpoint/testing'

const child = task({
  id: 'child',
  run: async (_payload: null) => {
    const token = await wait.createToken({ tags: ['question'], timeout: '1h' })
    const answer = await wait.forToken<string>(token)
    return answer.ok ? answer.output : 'no answer'
  },
})
const parent = task({ id: 'parent', run: (_payload: null) => child.triggerAndWait(null).unwrap() })
async function* abc(): AsyncGenerator<string> {
  for (const word of ['a', 'b', 'c']) yield word
}

const stream = task({
  id: 'stream',
  run: async (_payload: null) => {
    let text = ''
    for await (const word of await metadata.stream('words', abc())) text += word
    return text
  },
})
const naps = task({
  id: 'naps',
  run: async (_payload: null) => {
    await wait.for({ seconds: 5 })
    const mails = await once('mail', () => 1)
    await wait.for({ seconds: 5 })
    return mails
  },
})
const race = task({
  id: 'race',
  run: async (_payload: null) => {
    const token = await wait.createToken({ tags: ['question'], timeout: '1h' })
    const answer = wait.forToken(token).then(({ ok }) => (ok ? 'answered' : 'timed out'))
    return Promise.race([answer, wait.for({ minutes: 1 }).then(() => 'slept')])
  },
})
const retry = task({
  id: 'retry',
  retry: { maxAttempts: 3, minTimeoutInMs: 1_000, maxTimeoutInMs: 1_000, factor: 1, randomize: false },
  run: (_payload: null, { ctx }) => {
    if (ctx.attempt.policyNumber < 3) throw new Error('again')
    return 'third time lucky'
  },
})

async function* twice(text: string): AsyncGenerator<string> {
  yield text
  yield `${text}!`
}

const word = task({
  id: 'word',
  run: async (text: string) => {
    await streams.append('words', `${text} begins`, { target: 'parent' })
    await streams.pipe('words', twice(text), { target: 'parent' }).waitUntilComplete()
    return text
  },
})
const speech = task({
  id: 'speech',
  run: async (_: null) => {
    const { runs } = await word.batchTriggerAndWait([{ payload: 'a' }, { payload: 'b' }])
    return runs.map((run) => run.ok && run.output).join('')
  },
})

/** A parent has all that its children wrote, each in order, and maybe twice if an attempt was lost. */
const spoken: Body = async (t) => {
  const run = await t.engine.trigger(speech, null)
  if ((await run.result()) !== 'ab') throw new Error('came to another end')
  const seen: string[] = []
  for await (const part of t.engine.runs.subscribeToRun(run.id).withStreams<{ words: string }>())
    if (part.type === 'words') seen.push(part.chunk)
  for (const text of ['a', 'b']) {
    const own = seen.filter((chunk) => chunk.startsWith(text))
    const last = own.slice(own.lastIndexOf(`${text} begins`))
    if (last.join() !== `${text} begins,${text},${text}!`) throw new Error(`saw ${own.join()}`)
  }
}

/** One run of a task, whose tokens are completed at once. */
function oneRun(aTask: AnyTask, expected: readonly unknown[]): Body {
  return async (t) => {
    const run = await t.engine.tasks.trigger(aTask.id, null)
    const [outcome] = await Promise.all([run.outcome(), t.complete({ tag: 'question' }, 'yes')])
    if (!outcome.ok) throw outcome.error
    if (!expected.includes(outcome.output)) throw new Error(`came to ${String(outcome.output)}`)
  }
}

/** Two processes answer at the same time. */
const answeredElsewhere: Body = async (t) => {
  const run = await t.engine.tasks.trigger<typeof child>('child', null)
  const token = await t.waitingToken({ tag: 'question' })
  const [here, there] = await Promise.all([
    t.engine.wait.completeToken(token, 'here'),
    t.elsewhere.wait.completeToken(token, 'there'),
  ])
  if (here.success && there.success) throw new Error('both won')
  const answer = await run.result()
  if (!['here', 'there', 'no answer'].includes(answer)) throw new Error(`${answer} won`)
}

const laws: readonly (readonly [name: string, tasks: readonly AnyTask[], body: Body])[] = [
  ['a run that waits for another one', [parent, child], oneRun(parent, ['yes', 'no answer'])],
  ['a run that streams', [stream], oneRun(stream, ['abc'])],
  ['a run that sleeps, mails and sleeps', [naps], oneRun(naps, [1])],
  ['a wait that loses a race', [race], oneRun(race, ['answered', 'timed out', 'slept'])],
  ['a run that is retried', [retry], oneRun(retry, ['third time lucky'])],
  ['a run that two processes answer', [child], answeredElsewhere],
  ['a run whose children write to its stream', [speech, word], spoken],
]

/** What ends what hangs: the number of schedules is the same on a machine that is slow. */
const MOST_MS = 500_000

describe('in every schedule with one departure, with a crash before and after every write and late answers', () => {
  it.each(laws)('%s ends as it should', async (_name, tasks, body) => {
    const budget = { ms: MOST_MS }
    const options = { tasks, maxDeviations: 1, crashes: 'every-commit', faults: ['late'], budget } as const
    expect(await explore(body, options)).toMatchObject({ complete: true })
  })

  it.each(laws)('%s ends as it should, also in 200 schedules at random', async (_name, tasks, body) => {
    const budget = { runs: 200, ms: MOST_MS }
    // A process may die more often than a run may be interrupted.
    const maxInterruptions = 1_000
    const crashing = { maxInterruptions, crashes: 'every-commit', faults: ['late'] } as const
    const options = { tasks, decider: 'random', ...crashing, budget } as const
    expect(await explore(body, options)).toMatchObject({ runs: 200 })
  })
})
