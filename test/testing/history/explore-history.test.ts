import { describe, expect, it } from 'vitest'
import { type AnyTask, once, task, tasks, wait } from 'waitpoint'
import {
  createTestEngine,
  exploreHistory,
  type ExploreHistoryOptions,
  type ExploreHistoryReport,
  replayHistory,
  type RunHistory,
  type TestEngine,
} from 'waitpoint/testing'
import { readHistory } from '../../../src/testing/history/reading.ts'
import { Redaction } from '../../../src/testing/history/redaction.ts'
import { historyEnd } from '../../../src/testing/history/recorded-run.ts'
import { projectStorage } from '../../support/abandon.ts'

const LATER = Date.UTC(2031, 0, 1)
/** Schedules are counted here, not timed. */
const NO_LIMIT = { ms: Infinity }

/** Records one run of the first task on the storage of the project. */
async function recorded(
  all: readonly [AnyTask, ...AnyTask[]],
  payload: unknown,
  answer: (t: TestEngine, runId: string) => Promise<unknown>,
): Promise<RunHistory> {
  const storage = projectStorage()
  await using t = await createTestEngine({ tasks: [...all], storage })
  const run = await t.engine.tasks.trigger<AnyTask>(all[0].id, payload as never)
  await answer(t, run.id)
  return await readHistory(storage, run.id, { now: LATER, redaction: new Redaction(undefined) })
}

/** The run ends by itself. */
const ended = (t: TestEngine, runId: string): Promise<unknown> => t.engine.runs.poll(runId)

/** As an exported file does. */
async function explored(
  history: RunHistory,
  all: readonly AnyTask[],
  options: ExploreHistoryOptions = {},
): Promise<ExploreHistoryReport> {
  expect(await replayHistory(history, all)).toMatchObject({ end: historyEnd(history), departure: undefined })
  return exploreHistory(history, all, {
    budget: NO_LIMIT,
    check: ({ end, isAnsweredAlike }) => {
      if (isAnsweredAlike) expect(end).toEqual(historyEnd(history))
    },
    ...options,
  })
}

interface Order {
  readonly order: string
}

/** A run that sends an invoice and waits for the payment, which a customer makes 40 ms later. */
function orderTask(paid: (tokenId: string) => Promise<number | undefined>): AnyTask {
  return task({
    id: 'order',
    run: async ({ order }: Order) => {
      const token = await wait.createToken({ timeout: '1h', tags: ['payment'] })
      await once('invoice', () => `invoice of ${order}`)
      const cents = await paid(token.id)
      return cents === undefined ? `${order}: canceled` : `${order}: ${cents} paid`
    },
  })
}

async function payment(tokenId: string): Promise<number | undefined> {
  const answer = await wait.forToken<number>(tokenId)
  return answer.ok ? answer.output : undefined
}

const order = orderTask(payment)
/** Takes a token that no longer waits for one that has timed out. */
const hastyOrder = orderTask(async (tokenId) => {
  const { status } = await wait.retrieveToken(tokenId)
  return status === 'WAITING' ? payment(tokenId) : undefined
})

function payIn(at: string): (t: TestEngine) => Promise<unknown> {
  return (t) => t.complete({ tag: 'payment' }, 500, { at })
}

describe('exploreHistory', () => {
  it('finds a check before an act that a delivery comes between, and tells it in the words of the task', async () => {
    const history = await recorded([hastyOrder], { order: 'o1' }, payIn('+40ms'))
    const failed = await explored(history, [hastyOrder]).catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'ERR_EXPLORATION_FAILED', trace: { length: 1 } })
    const { message, replay } = failed as Error & { readonly replay: string }
    expect(message.split('\n').slice(2, -4).join('\n'))
      .toBe(`  0ms       the test looks at order: it is QUEUED
  0ms       order starts
  0ms       order creates its token [payment], time-out 1h
▶ 40ms      the token [payment] is completed with 500, before order: invoice
  40ms      order: invoice
  40ms      order looks at its token [payment]: it is COMPLETED
  40ms      order ends with "o1: canceled"
`)
    await expect(explored(history, [hastyOrder], { replay })).rejects.toMatchObject({ replay })
    // The mended code has no such schedule of the same end.
    expect(await explored(history, [order], { replay })).toMatchObject({ runs: 1 })
  })

  it('is silent about correct code that reads the answer, however it is delivered', async () => {
    const history = await recorded([order], { order: 'o1' }, payIn('+40ms'))
    const report = await explored(history, [order])
    expect(report).toMatchObject({ complete: true, startsAsRecorded: true })
    // Each write with a crash before and after it, and more.
    expect(report.runs).toBeGreaterThan(10)
  })

  it('does not take another winner of a race for a wrong end', async () => {
    const racing = task({
      id: 'racing',
      run: async () => {
        const token = await wait.createToken({ timeout: '1h', tags: ['payment'] })
        const paid = wait.forToken<number>(token).then(() => 'paid')
        return Promise.race([paid, wait.for({ seconds: 1 }).then(() => 'reminded')])
      },
    })
    const history = await recorded([racing], undefined, payIn('+999ms'))
    const ends = new Set<unknown>()
    const check: ExploreHistoryOptions['check'] = ({ end, isAnsweredAlike }) => {
      ends.add(end.output)
      if (isAnsweredAlike) expect(end).toEqual(historyEnd(history))
    }
    expect(await explored(history, [racing], { check })).toMatchObject({ complete: true })
    expect([...ends].sort()).toEqual(['paid', 'reminded'])
  })

  it('finds what an attempt after a crash does otherwise', async () => {
    const pay = (isRight: boolean): AnyTask =>
      task({
        id: 'pay',
        run: async ({ order }: Order, { ctx }) => {
          await once('begin', () => 'begun')
          const key = isRight ? order : `${order}/${ctx.attempt.number}`
          return once('pay', () => `receipt ${key}`).then((receipt) => ({ receipt, key }))
        },
      })
    const wrong = pay(false)
    const history = await recorded([wrong], { order: 'o1' }, ended)
    const failed = await explored(history, [wrong]).catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'ERR_EXPLORATION_FAILED', trace: [{ kind: 'crash' }] })
    expect(String(failed)).toContain('the process dies')
    expect(await explored(history, [wrong], { crashes: 'never' })).toMatchObject({ complete: true })
    const right = pay(true)
    const fine = await recorded([right], { order: 'o1' }, ended)
    expect(await explored(fine, [right])).toMatchObject({ complete: true, startsAsRecorded: true })
  })

  it('ends children and sleeps as they ended, and knows a child that has failed', async () => {
    const ship = task({
      id: 'ship',
      run: async ({ order }: Order) => {
        await wait.for({ seconds: 1 })
        if (order === 'o2') throw new Error('there is none')
        return `${order} shipped`
      },
    })
    const parent = task({
      id: 'parent',
      run: async () => {
        const first = await tasks.triggerAndWait<typeof ship>('ship', { order: 'o1' }).unwrap()
        await wait.for({ minutes: 1 })
        const second = await tasks.triggerAndWait<typeof ship>('ship', { order: 'o2' })
        return [first, second.ok]
      },
    })
    const history = await recorded([parent, ship], undefined, ended)
    expect(history.run.output).toEqual(['o1 shipped', false])
    const report = await explored(history, [parent, ship])
    expect(report).toMatchObject({ complete: true, startsAsRecorded: true })
  })

  it('cancels a run when it was canceled, and ends with the history of one that still waits', async () => {
    const canceled = await recorded([order], { order: 'o1' }, async (t, runId) => {
      await t.waitingToken({ tag: 'payment' })
      await t.engine.runs.cancel(runId)
    })
    expect(await explored(canceled, [order])).toMatchObject({ complete: true, startsAsRecorded: true })
    const waiting = await recorded([order], { order: 'o1' }, (t) => t.waitingToken({ tag: 'payment' }))
    expect(waiting.run.status).toBe('WAITING')
    // Read a century later, its token would have timed out.
    const read = { ...waiting, readAt: waiting.run.startedAt }
    expect(await explored(read, [order])).toMatchObject({ complete: true, startsAsRecorded: true })
  })

  it('ends an effect that the run has not waited for', async () => {
    const hurried = task({
      id: 'hurried',
      run: async () => {
        const token = await wait.createToken({ timeout: '1h', tags: ['payment'] })
        const asked = once('ask', () => wait.for({ hours: 2 }).then(() => 'late'))
        return Promise.race([asked, wait.forToken<number>(token).unwrap()])
      },
    })
    const history = await recorded([hurried], undefined, payIn('+40ms'))
    expect(await explored(history, [hurried])).toMatchObject({ complete: true, startsAsRecorded: true })
  })

  it('finds a promise that is rejected and that no code handles', async () => {
    const careless = task({
      id: 'careless',
      run: async () => {
        const token = await wait.createToken({ timeout: '1h', tags: ['payment'] })
        const mailed = once('mail', () => 'sent').then(async () => {
          const { status } = await wait.retrieveToken(token)
          if (status !== 'WAITING') throw new Error('the mail came after the payment')
        })
        await wait.forToken(token)
        void mailed
        return 'paid'
      },
    })
    const history = await recorded([careless], undefined, payIn('+40ms'))
    await expect(explored(history, [careless], { check: () => undefined })).rejects.toMatchObject({
      invariant: 'no rejection is left unhandled',
    })
  })

  it('goes no further where the run asks what the history has no answer to', async () => {
    const curious = task({
      id: 'order',
      run: async () => {
        const token = await wait.createToken({ timeout: '1h', tags: ['payment'] })
        const { status } = await wait.retrieveToken(token)
        if (status !== 'WAITING') await once('unknown', () => Promise.reject(new Error('never called')))
        return (await wait.forToken<number>(token).unwrap()) + 1
      },
    })
    const history = await recorded([curious], undefined, payIn('+40ms'))
    expect(await explored(history, [curious])).toMatchObject({ complete: true })
    const effects = {
      unknown: (): never => {
        throw new Error('called')
      },
    }
    await expect(explored(history, [curious], { effects })).rejects.toThrow(/called/)
  })

  it('refuses a history that the code departs from, and wrong options', async () => {
    const history = await recorded([order], { order: 'o1' }, payIn('+40ms'))
    const other = task({ id: 'order', run: () => wait.createToken({ timeout: '1h', tags: ['other'] }) })
    await expect(exploreHistory(history, [other])).rejects.toMatchObject({
      code: 'ERR_HISTORY_DEPARTS',
      message: expect.stringContaining('wait.createToken, tags other') as string,
    })
    await expect(exploreHistory(history, [order], { checks: 1 } as never)).rejects.toThrow(/checks/)
    await expect(exploreHistory(history, [order], { check: 1 as never })).rejects.toThrow(/check/)
    await expect(exploreHistory(history, [order], { crashes: 'often' as never })).rejects.toThrow(/crashes/)
    await expect(exploreHistory(history, [order], { budget: { runs: 0 } })).rejects.toThrow(/budget\.runs/)
  })
})
