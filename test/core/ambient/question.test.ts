import { describe, expect, expectTypeOf, it } from 'vitest'
import * as z from 'zod'
import { createEngine, type Engine, question, type Task, task, type Token, wait } from 'waitpoint'
import { createTestEngine, testClock, type TestEngine } from 'waitpoint/testing'
import { projectStorage } from '../../support/abandon.ts'

const refund = question({
  id: 'refund',
  message: ({ euros }: { euros: number }) => `Refund € ${String(euros)}?`,
  schema: z.object({ decision: z.enum(['approve', 'reject']), note: z.string().optional() }),
  timeout: '2d',
  onTimeoutText: 'The refund is rejected.',
})
const colour = question({ id: 'colour', choices: ['red', 'blue'] })

/** Asks for a refund, and says to whom it has turned. */
function asking(): { readonly ask: ReturnType<typeof refundTask>; readonly mails: readonly string[] } {
  const mails: string[] = []
  return { ask: refundTask(mails), mails }
}

function refundTask(mails: string[]) {
  return task({
    id: 'ask',
    run: async (euros: number) => {
      const answer = await refund.ask(
        { euros },
        {
          notify: ({ token, reminder }) => void mails.push(`${token.id.slice(0, 10)} ${String(reminder)}`),
          remind: { after: '1h', times: 2 },
        },
      )
      return answer.ok ? `${answer.output.decision} by ${answer.by?.id ?? 'no one'}` : 'no answer'
    },
  })
}

async function pendingId({ engine }: TestEngine): Promise<string> {
  const { data } = await engine.wait.listTokens({ status: 'WAITING', tags: refund.tag })
  return data[0]?.id ?? ''
}

describe('a question that is defined', () => {
  it('is asked with its data, told once, and answered by whom it was', async () => {
    const { ask, mails } = asking()
    await using t = await createTestEngine({ tasks: [ask] })
    const run = await t.engine.trigger(ask, 184)
    await t.clock.advance(0)
    const id = await pendingId(t)
    expect((await t.engine.wait.retrieveToken(id)).question).toMatchObject({
      id: 'refund',
      message: 'Refund € 184?',
      data: { euros: 184 },
      onTimeoutText: 'The refund is rejected.',
    })
    await t.engine.wait.completeToken(id, { decision: 'approve' }, { by: { id: 'ann' } })
    expect(await run.result()).toBe('approve by ann')
    expect(mails).toEqual(['waitpoint_ 0'])
  })

  it('reminds while there is no answer, each time once, and ends at its deadline', async () => {
    const { ask, mails } = asking()
    await using t = await createTestEngine({ tasks: [ask] })
    const run = await t.engine.trigger(ask, 1)
    await t.clock.advance('59m')
    expect(mails).toEqual(['waitpoint_ 0'])
    await t.clock.advance('1h')
    expect(mails).toEqual(['waitpoint_ 0', 'waitpoint_ 1'])
    await t.clock.advance('1d')
    expect(mails).toEqual(['waitpoint_ 0', 'waitpoint_ 1', 'waitpoint_ 2'])
    await t.clock.advance('1d')
    expect(await run.result()).toBe('no answer')
  })

  it.each<[string, (engine: Engine, token: Token) => Promise<unknown>]>([
    ['answered', (engine, token) => engine.wait.completeToken(token, 'red')],
    ['withdrawn', (engine, token) => engine.wait.withdrawToken(token)],
    ['past its deadline', () => Promise.resolve()],
  ])('reminds of nothing that is %s when its engine comes back', async (_, end) => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const told: number[] = []
    const asks = task({
      id: 'asks',
      run: async () => {
        const { ok } = await colour.ask(undefined, {
          timeout: '70h',
          notify: ({ reminder }) => void told.push(reminder),
          remind: { after: '24h', times: 2 },
        })
        return ok
      },
    })
    const old = await createTestEngine({ tasks: [asks], storage, clock })
    const run = await old.engine.trigger(asks)
    await clock.advance('1h')
    await old.close()
    {
      await using web = await createTestEngine({ storage, clock })
      await clock.advance('30h')
      const { data } = await web.engine.wait.listTokens({ tags: colour.tag })
      await end(web.engine, data[0] as Token)
    }
    await clock.advance('80h')
    await using t = await createTestEngine({ tasks: [asks], storage, clock })
    await clock.advance('1h')
    expect((await t.engine.runs.poll(run.id)).status).toBe('COMPLETED')
    expect(told).toEqual([0])
  })

  it('does not send its first mail again when it was answered before that mail was sent', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    let sendings = 0
    const asks = task({
      id: 'asks',
      run: async () => {
        const notify = (): Promise<void> => ((sendings += 1), clock.sleep('1h'))
        return (await colour.ask(undefined, { timeout: '70h', notify })).ok
      },
    })
    const old = await createTestEngine({ tasks: [asks], storage, clock })
    const run = await old.engine.trigger(asks)
    await clock.advance('1m')
    await old.close()
    {
      await using web = await createTestEngine({ storage, clock })
      const { data } = await web.engine.wait.listTokens({ tags: colour.tag })
      await web.engine.wait.completeToken(data[0] as Token, 'red')
    }
    await clock.advance('2h')
    await using t = await createTestEngine({ tasks: [asks], storage, clock })
    await clock.advance('1h')
    expect(await t.engine.runs.poll(run.id)).toMatchObject({ status: 'COMPLETED', output: true })
    expect(sendings).toBe(1)
  })

  it('tells people of the token that a retry asks anew with', async () => {
    const told: string[] = []
    const retried = task({
      id: 'retried',
      retry: { maxAttempts: 2, minTimeoutInMs: 0, maxTimeoutInMs: 0 },
      run: async (_: undefined, { ctx }) => {
        const answer = await colour.ask({}, { notify: ({ token }) => void told.push(token.id) })
        if (ctx.attempt.number === 1) throw new Error('no connection')
        return answer.ok ? answer.output : undefined
      },
    })
    await using t = await createTestEngine({ tasks: [retried] })
    const run = await t.engine.trigger(retried)
    for (const colour of ['red', 'blue']) {
      await t.clock.advance(0)
      await t.engine.wait.completeToken(told.at(-1) ?? '', colour)
    }
    expect(await run.result()).toBe('blue')
    expect(told).toHaveLength(2)
  })

  it('checks an answer wherever it is imported, whichever way it came', async () => {
    await using engine = createEngine({ tasks: [] })
    const { id } = await engine.wait.createToken({ choices: ['yes', 'no'] })
    await expect(engine.wait.completeToken(id, 'maybe')).rejects.toMatchObject({ code: 'ERR_OUTPUT_INVALID' })
    engine.makeDefault()
    const asked = await refund.create({ euros: 1 })
    await expect(refund.answer(asked, { decision: 'maybe' })).rejects.toMatchObject({
      code: 'ERR_OUTPUT_INVALID',
    })
    expect((await refund.pending()).data.map((token) => token.id)).toEqual([asked.id])
    expect(await refund.answer(asked.id, { decision: 'reject' }, { by: { id: 'bob' } })).toEqual({
      success: true,
      status: 'COMPLETED',
      by: { id: 'bob', via: 'call' },
    })
    expect((await refund.pending()).data).toEqual([])
  })

  it('finds those that wait by their data and their tags, page by page', async () => {
    await using engine = createEngine({ tasks: [] })
    engine.makeDefault()
    const order = question<{ order: number; by?: Date; of?: { shop: string } }>({
      id: 'order',
      timeout: '1d',
    })
    await question({ id: 'another' }).create({ order: 1 })
    const asked: string[] = []
    for (let count = 0; count < 60; count += 1) {
      const data = { order: count % 30, by: new Date(count), of: { shop: 'a' } }
      asked.push((await order.create(data, { tags: count < 30 ? ['old', 'x'] : 'new' })).id)
    }
    await order.answer(asked[40] ?? '', 'done')
    const found = async (params: Parameters<typeof order.pending>[0]): Promise<readonly number[]> => {
      const numbers: number[] = []
      for await (const { id } of order.pending(params)) numbers.push(asked.indexOf(id))
      return numbers
    }
    expect(await found({ data: { order: 7 } })).toEqual([37, 7])
    expect(await found({ data: { order: 10 } })).toEqual([10])
    expect(await found({ data: { order: 7 }, tags: ['old', 'none'] })).toEqual([7])
    expect(await found({ data: { by: new Date(3), of: { shop: 'a' } } })).toEqual([3])
    expect(await found({ data: { order: 7, of: { shop: 'b' } } })).toEqual([])
    expect(await found({ tags: 'new' })).toHaveLength(29)
    expect(await found({ after: asked[10] })).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    await expect(order.pending({ tag: 'old' } as never)).rejects.toThrow(/no option "tag"/)
    await expect(order.pending({ data: 7 } as never)).rejects.toThrow(TypeError)
    await expect(order.pending({ tags: [''] })).rejects.toThrow(TypeError)
  })

  it('asks twice in a run by two names, and types its choices', async () => {
    const both = task({
      id: 'both',
      run: async () => {
        const answers = await Promise.all([colour.ask(), colour.ask()])
        expectTypeOf(answers[0]).toExtend<{ ok: boolean }>()
        return answers.map((answer) => {
          if (answer.ok) expectTypeOf(answer.output).toEqualTypeOf<'red' | 'blue'>()
          return answer.ok ? answer.output : undefined
        })
      },
    })
    await using t = await createTestEngine({ tasks: [both] })
    const run = await t.engine.trigger(both)
    await t.clock.advance(0)
    for (const token of (await t.engine.wait.listTokens({ tags: colour.tag })).data)
      await t.engine.wait.completeToken(token, 'blue')
    expect(await run.result()).toEqual(['blue', 'blue'])
  })

  it.each(['ask', 'create'] as const)(
    'is found at its place when one with a name of its own is put before it: by %s',
    async (way) => {
      const storage = projectStorage()
      const code = (isChanged: boolean): Task<void, unknown> =>
        task({
          id: 'one',
          run: async () => {
            const added = isChanged && colour[way]({}, { name: 'added' })
            return Promise.all([colour.ask(), added])
          },
        })
      const old = await createTestEngine({ tasks: [code(false)], storage })
      const run = await old.engine.trigger(code(false))
      await old.clock.advance(0)
      await old.close()
      await using t = await createTestEngine({ tasks: [code(true)], storage })
      // A run that is parked is executed again with its first answer.
      for (let round = 0; round < 2; round += 1) {
        const { data } = await t.engine.wait.listTokens({ tags: colour.tag, status: 'WAITING' })
        for (const token of data) await t.engine.wait.completeToken(token, 'red')
        await t.clock.advance(0)
      }
      expect((await t.engine.wait.listTokens({ tags: colour.tag })).data).toHaveLength(2)
      expect((await t.engine.runs.poll(run.id)).status).toBe('COMPLETED')
    },
  )

  it('is asked in runs only, and makes no token elsewhere', async () => {
    await using engine = createEngine({ tasks: [] })
    engine.makeDefault()
    for (const options of [{}, { name: 'one' }])
      await expect(colour.ask(undefined, options)).rejects.toMatchObject({ code: 'ERR_NOT_IN_RUN' })
    expect((await engine.wait.listTokens()).data).toEqual([])
  })

  it('gives the run what only the stored schema took as an error with the answer', async () => {
    const even = z.number().refine((value) => value % 2 === 0)
    const asksEven = task({
      id: 'even',
      run: async (id: string) => {
        const reference = question({ id: 'even', schema: even })
        return reference.wait(id).unwrap()
      },
    })
    await using t = await createTestEngine({ tasks: [asksEven] })
    const { id } = await t.engine.wait.createToken({ schema: { type: 'number' } })
    const run = await t.engine.trigger(asksEven, id)
    await t.clock.advance(0)
    await t.engine.wait.completeToken(id, 3)
    await expect(run.result()).rejects.toThrow('the answer does not fit')
  })

  it.each<[string, unknown]>([
    ['no options', undefined],
    ['no id', {}],
    ['an empty id', { id: '' }],
  ])('needs an id: %s', (_, options) => {
    expect(() => question(options as never)).toThrow(TypeError)
  })
})

it('a plain wait of a token is typed by its schema', () => {
  task({
    id: 'typed',
    run: async () => {
      const token = await wait.createToken({ schema: z.object({ a: z.number() }) })
      expectTypeOf(await wait.forToken(token).unwrap()).toEqualTypeOf<{ a: number }>()
      const plain = await wait.createToken()
      expectTypeOf(await wait.forToken(plain).unwrap()).toBeUnknown()
      expectTypeOf(await wait.forToken<string>(plain).unwrap()).toBeString()
    },
  })
})
