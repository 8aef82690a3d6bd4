import { describe, expect, it } from 'vitest'
import { type AnyTask, once, task, wait } from 'waitpoint'
import { ask, Processes } from '../support/processes.ts'

type Body = () => Promise<unknown>

const version = (number: number, run: Body, accepts: readonly string[] = []): AnyTask =>
  task({ id: 'pay', version: `${number}`, accepts, run })

/** A run of `before` whose questions with these tags are answered, and that waits for the next one. */
async function begun(
  before: AnyTask,
  answered: readonly string[] = [],
  ...others: readonly AnyTask[]
): Promise<{ processes: Processes; id: string }> {
  const processes = new Processes()
  const engine = await processes.next(before, ...others)
  const { id } = await engine.trigger(before, undefined as never)
  await processes.clock.settle()
  for (const tag of answered) await processes.answer(tag)
  return { processes, id }
}

/** What comes of the run on other code, when these questions are answered there. */
async function deployed(
  { processes, id }: { readonly processes: Processes; readonly id: string },
  codes: readonly AnyTask[],
  answered: readonly string[],
): Promise<{ readonly status: string; readonly output: unknown; readonly waiting: readonly string[] }> {
  const engine = await processes.next(...codes)
  for (const tag of answered) await processes.answer(tag)
  const { status, output } = await engine.runs.retrieve(id)
  return { status, output, waiting: await processes.waiting() }
}

const list =
  (...names: readonly string[]): Body =>
  async () => {
    const answers: string[] = []
    for (const name of names) answers.push(await ask(name, name))
    return answers
  }

const unnamed =
  (...tags: readonly string[]): Body =>
  async () => {
    const answers: string[] = []
    for (const tag of tags) answers.push(await ask(tag))
    return answers
  }

describe('a question that is new in front of the others', () => {
  it('is asked, and the answers of named questions are kept', async () => {
    const run = await begun(version(1, list('a', 'b')), ['a'])
    const after = version(2, list('new', 'a', 'b'))
    expect(await deployed(run, [after], ['b'])).toMatchObject({ status: 'WAITING', waiting: ['new'] })
    expect(await deployed(run, [after], ['new'])).toMatchObject({
      output: ['yes to new', 'yes to a', 'yes to b'],
    })
    await run.processes.close()
  })

  it('makes the run stand still where questions have no names, and its answer is kept', async () => {
    const before = version(1, unnamed('a', 'b'))
    const run = await begun(before, ['a'])
    const after = version(2, unnamed('a', 'a', 'b'))
    expect(await deployed(run, [after], ['b'])).toMatchObject({ status: 'PENDING_VERSION', waiting: [] })
    expect(await deployed(run, [before], [])).toMatchObject({ output: ['yes to a', 'yes to b'] })
    await run.processes.close()
  })
})

describe('questions in another order', () => {
  it('keep their answers when they have names', async () => {
    const run = await begun(version(1, list('a', 'b', 'c')), ['a', 'b'])
    const after = version(2, list('b', 'a', 'c'))
    expect(await deployed(run, [after], ['c'])).toMatchObject({
      output: ['yes to b', 'yes to a', 'yes to c'],
    })
    await run.processes.close()
  })

  it('make the run stand still when they have none, also where the code is accepted', async () => {
    const run = await begun(version(1, unnamed('a', 'b', 'c')), ['a', 'b'])
    const after = version(2, unnamed('b', 'a', 'c'), ['1'])
    expect(await deployed(run, [after], ['c'])).toMatchObject({ status: 'PENDING_VERSION' })
    await run.processes.close()
  })
})

describe('a question that was removed', () => {
  it('leaves the answers of named questions where they are', async () => {
    const run = await begun(version(1, list('a', 'b', 'c')), ['a', 'b'])
    expect(await deployed(run, [version(2, list('a', 'c'))], ['c'])).toMatchObject({
      output: ['yes to a', 'yes to c'],
    })
    await run.processes.close()
  })

  it('ends a loop earlier', async () => {
    const rounds = (count: number): Body => list(...Array.from({ length: count }, (_, at) => `round ${at}`))
    const run = await begun(version(1, rounds(4)), ['round 0', 'round 1'])
    expect(await deployed(run, [version(2, rounds(2))], ['round 2'])).toMatchObject({
      output: ['yes to round 0', 'yes to round 1'],
    })
    await run.processes.close()
  })

  it('makes the run stand still when questions have no names', async () => {
    const run = await begun(version(1, unnamed('a', 'b', 'c')), ['a', 'b'])
    expect(await deployed(run, [version(2, unnamed('a', 'c'), ['1'])], ['c'])).toMatchObject({
      status: 'PENDING_VERSION',
    })
    await run.processes.close()
  })
})

describe('a child with another payload', () => {
  const payloads: string[] = []
  const child = task({
    id: 'child',
    run: async (payload: string) => {
      payloads.push(payload)
      return `done ${payload}`
    },
  })
  const parent =
    (payload: string, name?: string): Body =>
    async () => {
      const { output } = await child
        .triggerAndWait(payload, name === undefined ? {} : { name })
        .then((result) => (result.ok ? result : { output: 'failed' }))
      return [output, await ask('end', 'end')]
    }

  it.each([
    ['runs again under another name', 'first', 'second', ['one', 'two'], 'done two'],
    ['keeps its output under the name it had', 'first', 'first', ['one'], 'done one'],
  ])('%s', async (_what, before, after, executed, output) => {
    payloads.length = 0
    const run = await begun(version(1, parent('one', before)), [], child)
    const end = await deployed(run, [version(2, parent('two', after)), child], ['end'])
    expect(end).toMatchObject({ status: 'COMPLETED', output: [output, 'yes to end'] })
    expect(payloads).toEqual(executed)
    await run.processes.close()
  })

  it('makes the run stand still without a name, and runs no second time', async () => {
    payloads.length = 0
    const run = await begun(version(1, parent('one')), [], child)
    const end = await deployed(run, [version(2, parent('two'), ['1']), child], ['end'])
    expect(end).toMatchObject({ status: 'PENDING_VERSION' })
    expect(payloads).toEqual(['one'])
    await run.processes.close()
  })
})

describe('a question with other options', () => {
  it('keeps its answer under its name', async () => {
    const ofTag =
      (tag: string): Body =>
      async () => [await ask(tag, 'manager'), await ask('end', 'end')]
    const run = await begun(version(1, ofTag('old')), ['old'])
    expect(await deployed(run, [version(2, ofTag('new'))], ['end'])).toMatchObject({
      output: ['yes to old', 'yes to end'],
    })
    await run.processes.close()
  })
})

describe('a version that replaces a step', () => {
  const first = version(1, unnamed('old', 'end'))
  const second = version(2, unnamed('new', 'end'))

  it('is that of new runs; a run of the first one ends on its own, beside it', async () => {
    const run = await begun(first)
    expect(await deployed(run, [second, first], ['old', 'end'])).toMatchObject({
      output: ['yes to old', 'yes to end'],
    })
    const engine = await run.processes.next(second, first)
    await engine.trigger(second, undefined as never)
    await run.processes.clock.settle()
    expect(await run.processes.waiting()).toEqual(['new'])
    await run.processes.close()
  })

  it('leaves a run of the first one to it when that was taken away too early', async () => {
    const run = await begun(first, ['old'])
    expect(await deployed(run, [second], ['end'])).toMatchObject({ status: 'PENDING_VERSION' })
    expect(await deployed(run, [second, first], [])).toMatchObject({ output: ['yes to old', 'yes to end'] })
    await run.processes.close()
  })

  it('leaves a run that stands still to the processes that execute runs', async () => {
    const run = await begun(first, ['old'])
    expect(await deployed(run, [second], ['end'])).toMatchObject({ status: 'PENDING_VERSION' })
    const web = await run.processes.idle(second, first)
    expect((await web.runs.retrieve(run.id)).status).toBe('PENDING_VERSION')
    expect(await deployed(run, [second, first], [])).toMatchObject({ output: ['yes to old', 'yes to end'] })
    await run.processes.close()
  })

  it('executes a run that has asked nothing yet', async () => {
    const processes = new Processes()
    const engine = await processes.next(first)
    const { id } = await engine.trigger(first, undefined as never, { delay: '1h' })
    const later = await processes.next(second)
    await processes.clock.advance(3_600_000)
    await processes.answer('new')
    await processes.answer('end')
    expect((await later.runs.retrieve(id)).output).toEqual(['yes to new', 'yes to end'])
    await processes.close()
  })
})

describe('a version that goes on with a run of another one', () => {
  const before = version(1, list('a'))
  const after = version(2, async () => [await ask('a', 'a'), await ask('b')])

  it('has the run from then on: its questions without names keep their tokens', async () => {
    const run = await begun(before)
    await deployed(run, [after], ['a'])
    expect(await deployed(run, [after], ['b'])).toMatchObject({ output: ['yes to a', 'yes to b'] })
    await run.processes.close()
  })

  it('keeps it when the version it began on stands beside it', async () => {
    const run = await begun(before)
    await deployed(run, [after], ['a'])
    expect(await deployed(run, [before, after], ['b'])).toMatchObject({ output: ['yes to a', 'yes to b'] })
    await run.processes.close()
  })
})

describe('a version that adds a step', () => {
  it('behind the questions asked so far is gone on with where it is accepted', async () => {
    const run = await begun(version(1, unnamed('a', 'b')), ['a'])
    const after = version(2, unnamed('a', 'b', 'c'), ['1'])
    expect(await deployed(run, [after], ['b'])).toMatchObject({ status: 'WAITING', waiting: ['c'] })
    await run.processes.close()
  })

  it('in each round of a loop asks in the rounds to come, and in those of before anew', async () => {
    const rounds =
      (hasCheck: boolean): Body =>
      async () => {
        const answers: string[] = []
        for (let round = 1; round <= 2; round += 1) {
          if (hasCheck) answers.push(await ask(`check ${round}`, `check ${round}`))
          answers.push(await ask(`pay ${round}`, `pay ${round}`))
        }
        return answers
      }
    const run = await begun(version(1, rounds(false)), ['pay 1'])
    const end = await deployed(run, [version(2, rounds(true))], ['pay 2', 'check 1', 'check 2'])
    expect(end.output).toEqual(['yes to check 1', 'yes to pay 1', 'yes to check 2', 'yes to pay 2'])
    await run.processes.close()
  })

  it('in an effect that has happened does not repeat it', async () => {
    const effects: string[] = []
    const withMail =
      (...mails: readonly string[]): Body =>
      async () => {
        for (const mail of mails) await once(mail, () => void effects.push(mail))
        return ask('end', 'end')
      }
    const run = await begun(version(1, withMail('first')))
    const end = await deployed(run, [version(2, withMail('new', 'first'))], ['end'])
    expect(end).toMatchObject({ status: 'COMPLETED', output: 'yes to end' })
    expect(effects).toEqual(['first', 'new'])
    await run.processes.close()
  })
})

describe('a version that changes a sleep', () => {
  const sleepFirst =
    (seconds: number): Body =>
    async () => {
      await wait.for({ seconds })
      return ask('end')
    }

  it('keeps the end of the sleep that has begun', async () => {
    const run = await begun(version(1, sleepFirst(60)))
    await run.processes.next(version(2, sleepFirst(86_400), ['1']))
    await run.processes.clock.advance(60_000)
    expect(await run.processes.waiting()).toEqual(['end'])
    await run.processes.close()
  })

  it('into a question makes the run stand still, also where it is accepted', async () => {
    const run = await begun(version(1, sleepFirst(60)))
    const engine = await run.processes.next(version(2, unnamed('a', 'end'), ['1']))
    await run.processes.clock.advance(60_000)
    expect((await engine.runs.retrieve(run.id)).status).toBe('PENDING_VERSION')
    await run.processes.close()
  })
})

describe('flows side by side', () => {
  it('run each child once, and get its output, over a restart', async () => {
    const executed: string[] = []
    const child = task({
      id: 'child',
      run: async (payload: string) => {
        executed.push(payload)
        return payload
      },
    })
    const flow = async (name: string): Promise<readonly unknown[]> => {
      await ask(name)
      const { output } = await child
        .triggerAndWait(name)
        .then((result) => (result.ok ? result : { output: '' }))
      return [output, await ask(`${name} end`)]
    }
    const flows = task({ id: 'flows', run: async () => Promise.all([flow('a'), flow('b')]) })
    const processes = new Processes()
    const engine = await processes.next(flows, child)
    const { id } = await engine.trigger(flows, undefined)
    await processes.clock.settle()
    for (const tag of ['b', 'a', 'b end']) await processes.answer(tag)
    const later = await processes.next(flows, child)
    await processes.answer('a end')
    expect((await later.runs.retrieve(id)).output).toEqual([
      ['a', 'yes to a end'],
      ['b', 'yes to b end'],
    ])
    expect(executed).toEqual(['b', 'a'])
    await processes.close()
  })

  it('are not moved by a wait inside of an effect that is recorded', async () => {
    const steps = task({
      id: 'steps',
      run: async () => {
        const inside = await once('effect', async () => ask('same'))
        return [inside, await ask('same')]
      },
    })
    const processes = new Processes()
    const engine = await processes.next(steps)
    const { id } = await engine.trigger(steps, undefined)
    await processes.clock.settle()
    await processes.answer('same')
    const [token] = (await engine.wait.listTokens({ status: 'WAITING' })).data
    const later = await processes.next(steps)
    await later.wait.completeToken(token!, 'no')
    await processes.clock.settle()
    expect((await later.runs.retrieve(id)).output).toEqual(['yes to same', 'no'])
    await processes.close()
  })
})
