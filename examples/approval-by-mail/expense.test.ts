import { beforeEach, expect } from 'vitest'
import { taskTest } from 'waitpoint/vitest'
import { expenseTask } from './expense.ts'
import type { Mail } from './outbox.ts'
import { expensePages } from './pages.ts'

const mails: Mail[] = []
const expense = expenseTask({ send: (mail) => void mails.unshift(mail), remindAfter: '1d' })
const subjects = (): readonly string[] => mails.map(({ to, subject }) => `${to}: ${subject}`)

beforeEach(() => void mails.splice(0))

const expenseTest = taskTest.with({
  tasks: [expense],
  baseUrl: 'http://localhost/engine',
  // Each wait goes on as after a restart, so an effect that happened twice would be seen.
  alwaysResume: true,
})
const TRAIN = { from: 'ada@example.com', what: 'Train to Bern', euros: 184 }

expenseTest('is approved by the link in the mail', async ({ t }) => {
  const app = expensePages(t.engine, { expense, mails: () => mails })
  const run = await t.engine.trigger(expense, TRAIN)
  await t.waitingToken({ tag: 'question:expense-approval' })
  expect(await (await app.request('/')).text()).toContain('waits for Grace')

  const link = mails[0]?.link ?? ''
  expect(await (await app.request(link)).text()).toContain('ada@example.com asks for € 184: Train to Bern')
  const form = new URLSearchParams({ form: '1', 'answer.0': '0', 'answer.1': 'by night' })
  await app.request(link, { method: 'POST', body: form })

  expect(await run.result()).toBe('approved: by night')
  expect(subjects()).toEqual(['ada@example.com: Train to Bern', 'grace@example.com: Train to Bern, € 184'])
})

expenseTest.for([
  [{ euros: '' }, 'euros'],
  [{ euros: '-5' }, 'euros'],
  [{ euros: 'many' }, 'euros'],
  [{ what: ' ' }, 'what'],
  [{ from: 'ada' }, 'from'],
] as const)('is not asked with a form that has %o', async ([wrong, field], { t }) => {
  const app = expensePages(t.engine, { expense, mails: () => mails })
  const body = new URLSearchParams({ ...TRAIN, euros: '184', ...wrong })
  const response = await app.request('/expenses', { method: 'POST', body })
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(`<b>${field}</b>`)])
  expect((await t.engine.runs.list()).data).toEqual([])
})

expenseTest('is in the inbox of Grace, whose console it is', async ({ t }) => {
  const app = expensePages(t.engine, { expense, mails: () => mails })
  await t.engine.trigger(expense, TRAIN)
  await t.waitingToken({ tag: 'question:expense-approval' })
  expect(await (await app.request('/')).text()).toContain('href="/console/inbox"')
  expect(await (await app.request('/console/inbox')).text()).toMatch(/Train to Bern[^]*<button/)
})

expenseTest('is rejected after two reminders and three days', async ({ t }) => {
  const run = await t.engine.trigger(expense, TRAIN)
  await expect(run).toTimeOutIn('3d')
  expect(await run.result()).toBe('rejected: no answer came')
  expect(subjects()).toEqual([
    'ada@example.com: Train to Bern',
    'grace@example.com: Reminder: Train to Bern, € 184',
    'grace@example.com: Reminder: Train to Bern, € 184',
    'grace@example.com: Train to Bern, € 184',
  ])
})

expenseTest('is decided by Grace alone', async ({ t }) => {
  const run = await t.engine.trigger(expense, TRAIN)
  const token = await t.waitingToken({ tag: 'question:expense-approval' })
  const { wait } = t.engine
  const byAda = wait.completeToken(token, { decision: 'approve' }, { by: { id: 'ada' } })
  await expect(byAda).rejects.toMatchObject({ code: 'ERR_NOT_APPROVER' })
  await wait.completeToken(token, { decision: 'reject' }, { by: { id: 'grace@example.com' } })
  expect(await run.result()).toBe('rejected')
})
