import { describe, expect, it } from 'vitest'
import { type RetrievedToken, task, wait, type Withdrawal } from 'waitpoint'
import type { ExplorationTools } from 'waitpoint/testing'
import { exploreAll } from '../../testing/exploration/bodies.ts'

const EVERYWHERE = { crashes: 'every-commit', maxDeviations: 1 } as const

/** Says how its wait ended, and when. */
const ask = task({
  id: 'ask',
  run: async (token: string) => {
    const answer = await wait.forToken<string>(token)
    return answer.ok ? answer.output : (answer.error.withdrawn?.reason ?? 'no answer')
  },
})

async function asked(
  t: ExplorationTools,
  options: { readonly timeout: string; readonly approvers?: readonly string[] },
) {
  const { id } = await t.engine.wait.createToken({ message: 'Refund?', ...options, idempotencyKey: 'asked' })
  const run = await t.engine.trigger(ask, id, { idempotencyKey: 'run' })
  const token = (): Promise<RetrievedToken<string>> => t.elsewhere.wait.retrieveToken<string>(id)
  return { id, run, token }
}

/** How a token ended, and by whom. */
function endOf({ status, output, answeredBy, withdrawn }: RetrievedToken<string>) {
  const by: Withdrawal | undefined = answeredBy ?? withdrawn
  return { by, text: status === 'COMPLETED' ? output : (withdrawn?.reason ?? 'no answer') }
}

describe('a withdrawal, an answer and a deadline', () => {
  // A call that is made one millisecond before the deadline may be stored after it, if its process stands still.
  it.each([
    ['with a crash before and after every commit', EVERYWHERE, ['yes', 'late']],
    [
      'with a process that stands still at every commit',
      { pauses: 'every-commit', maxDeviations: 1 } as const,
      ['yes', 'late', 'no answer'],
    ],
  ])('have one winner, of whom all are told: %s', async (_, options, ends) => {
    const report = await exploreAll(
      async (t) => {
        const { id, run, token } = await asked(t, { timeout: '1m' })
        const other = t.startEngine('other', { execute: false })
        const last = t.clock.now() + 59_000
        const soon = (): Promise<void> => t.clock.sleep(Math.max(0, last - t.clock.now()))
        const told = await Promise.all([
          soon().then(() => t.engine.wait.completeToken(id, 'yes', { by: { id: 'bob' } })),
          soon().then(() => other.wait.withdrawToken(id, { by: { id: 'ann' }, reason: 'late' })),
        ])
        const result: unknown = await run.result()
        const { by, text } = endOf(await token())
        expect(result).toBe(text)
        expect(told.map((each) => each.by)).toEqual([by, by])
        expect(new Set(told.map(({ status }) => status)).size).toBe(1)
        for (const end of ends) t.sometimes(`the end was ${end}`, text === end)
      },
      { tasks: [ask], ...options },
    )
    expect(report).toMatchObject({ complete: true })
  })
})

describe('an extension', () => {
  it.each([
    ['later', '10m', '2h'],
    ['earlier', '2h', '10m'],
  ])(
    'to a %s deadline is what the run of another process waits for, or came too late',
    async (_, from, to) => {
      const report = await exploreAll(
        async (t) => {
          const { id, run, token } = await asked(t, { timeout: from })
          const { timeoutAt: first } = await token()
          const other = t.startEngine('other', { execute: false })
          await t.clock.sleep('5m')
          const { success } = await other.wait.extendToken(id, to)
          expect(await run.result()).toBe('no answer')
          const { timeoutAt, completedAt } = await token()
          expect(completedAt).toEqual(timeoutAt)
          expect(timeoutAt.getTime() !== first.getTime()).toBe(success)
          expect(t.clock.now()).toBeGreaterThanOrEqual(timeoutAt.getTime())
          t.sometimes('it was in time, and met at once', success && t.clock.now() === timeoutAt.getTime())
          t.sometimes('it was too late', !success)
        },
        { tasks: [ask], ...EVERYWHERE },
      )
      expect(report).toMatchObject({ complete: true })
    },
  )
})

describe('a reassignment', () => {
  it('comes after an answer of the old approver, or refuses it', async () => {
    const report = await exploreAll(
      async (t) => {
        const { id, run, token } = await asked(t, { timeout: '1d', approvers: ['bob'] })
        const other = t.startEngine('other', { execute: false })
        const [bob, reassigned] = await Promise.all([
          t.engine.wait.completeToken(id, 'of bob', { by: { id: 'bob' } }).catch((error: unknown) => error),
          other.wait.reassignToken(id, ['ann']),
        ])
        if ((await token()).status === 'WAITING')
          await t.engine.wait.completeToken(id, 'of ann', { by: { id: 'ann' } })
        const result: unknown = await run.result()
        t.sometimes('bob came first', result === 'of bob')
        t.sometimes('bob was refused', result === 'of ann')
        // Time may pass at any step.
        if (result === 'no answer') return
        expect(endOf(await token())).toMatchObject({ text: result, by: { id: String(result).slice(3) } })
        expect(reassigned.success).toBe(result === 'of ann')
        if (result === 'of ann') expect(bob).toMatchObject({ code: 'ERR_NOT_APPROVER' })
      },
      { tasks: [ask], ...EVERYWHERE },
    )
    expect(report).toMatchObject({ complete: true })
  })
})
