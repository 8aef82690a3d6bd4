import { once, question, task } from 'waitpoint'
import type { Task } from 'waitpoint'
import { z } from 'zod'
import type { Mail } from './outbox.ts'

export interface Expense {
  /** The address of the one who asks for the money. */
  readonly from: string
  readonly what: string
  readonly euros: number
}

/** Checks a form, and the payload of each run once more. */
export const expenseSchema: z.ZodType<Expense, Expense> = z.object({
  from: z.email(),
  what: z.string().trim().min(1).max(200),
  euros: z.coerce.number<number>().positive().max(100_000),
})
interface Decision {
  readonly decision: 'approve' | 'reject'
  readonly note?: string | undefined
}

/** The one who decides: by her own link, or in the console as its user. */
export const GRACE = { id: 'grace@example.com', name: 'Grace' }

const approval = question({
  id: 'expense-approval',
  message: ({ from, what, euros }: Expense) => `${from} asks for € ${euros}: ${what}`,
  schema: z.object({
    decision: z.enum(['approve', 'reject']),
    note: z.string().max(200).optional(),
  }),
  approvers: [GRACE.id],
  timeout: '3d',
  onTimeoutText: 'The expense is rejected.',
})

/** What the task needs from outside. */
interface Office {
  readonly send: (mail: Mail) => void
  /** From one mail to the next, while there is no answer. */
  readonly remindAfter: string
}

/** Asks for an approval by mail, reminds twice, and tells the outcome. */
export function expenseTask({ send, remindAfter }: Office): Task<Expense, string> {
  return task({
    id: 'expense',
    schema: expenseSchema,
    run: async (expense) => {
      const answer = await approval.ask(expense, {
        notify: ({ token, reminder }) =>
          send({
            to: GRACE.id,
            subject: `${reminder > 0 ? 'Reminder: ' : ''}${expense.what}, € ${expense.euros}`,
            text: `${expense.from} asks for it. Please decide:`,
            link: token.linkFor(GRACE),
          }),
        remind: { after: remindAfter, times: 2 },
      })
      const outcome = answer.ok ? outcomeOf(answer.output) : 'rejected: no answer came'
      // A run may be executed again from the top. This mail is sent once all the same.
      await once('tell', () => send({ to: expense.from, subject: expense.what, text: `It is ${outcome}.` }))
      return outcome
    },
  })
}

function outcomeOf({ decision, note }: Decision): string {
  const outcome = decision === 'approve' ? 'approved' : 'rejected'
  return note === undefined ? outcome : `${outcome}: ${note}`
}
