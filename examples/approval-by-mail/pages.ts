import type { Hono } from 'hono'
import { html } from 'hono/html'
import type { Engine, Task } from 'waitpoint'
import { createApp, readForm } from '../host.ts'
import type { Html } from '../layout.ts'
import { type Expense, expenseSchema, GRACE } from './expense.ts'
import type { Mail } from './outbox.ts'

/** What the pages start and show. */
interface Desk {
  readonly expense: Task<Expense, string>
  readonly mails: () => readonly Mail[]
}

/** The form for an expense, the expenses, and the outbox with the mails that were sent. */
export function expensePages(engine: Engine, { expense, mails }: Desk): Hono {
  const live = async (): Promise<Html> => {
    const { data: runs } = await engine.runs.list({ taskIdentifier: expense.id, limit: 10 })
    const expenses = runs.map((run) => {
      const { from, what, euros } = run.payload as Expense
      return html`<li><b>${what}, € ${euros}</b> <small>${from}</small><br />${run.output ?? 'waits for Grace'}</li>`
    })
    return html`
      <h2>Expenses</h2>
      <ul>${expenses}</ul>
      <h2>Outbox</h2>
      <ul>${mails().slice(0, 10).map(mailItem)}</ul>`
  }
  const app = createApp(engine, { title: 'Expenses', top: FORM, live, user: GRACE })

  app.post('/expenses', async (c) => {
    const sent = await readForm(c, expenseSchema)
    if (sent instanceof Response) return sent
    await engine.trigger(expense, sent)
    return c.redirect('/', 303)
  })
  return app
}

const FORM = html`
  <p class="soft">Grace gets a mail with a link of her own, and two reminders. After three days it is rejected.</p>
  <form method="post" action="/expenses">
    <label>Who asks <input name="from" type="email" value="ada@example.com" required /></label>
    <label>For what <input name="what" value="Train to Bern" required maxlength="200" /></label>
    <label>Euros <input name="euros" type="number" min="0.01" step="0.01" max="100000" value="184" required /></label>
    <button>Ask Grace</button>
  </form>`

function mailItem({ to, subject, text, link }: Mail): Html {
  const answer = link === undefined ? '' : html`<a href="${link}">Answer</a>`
  return html`<li><small>to ${to}</small><br /><b>${subject}</b><br />${text} ${answer}</li>`
}
