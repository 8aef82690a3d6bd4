import { createEngine } from 'waitpoint'
import { fileOf, placeOf, run } from '../host.ts'
import { expenseTask } from './expense.ts'
import { Outbox } from './outbox.ts'
import { expensePages } from './pages.ts'

const outbox = new Outbox(fileOf('approval-by-mail.mails'))
// In earnest this is a day; here one wants to see it.
const expense = expenseTask({ send: (mail) => outbox.send(mail), remindAfter: '20s' })
const engine = createEngine({ tasks: [expense], ...placeOf('approval-by-mail') })

await run(engine, expensePages(engine, { expense, mails: () => outbox.mails() }))
