import { task } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import type { Twin } from '../twin.ts'

/** A mail is sent, and marked as sent then. The twin lets the mail server know the mail by its number. */
export const mailTwice: Twin = (isFixed) => {
  const body: Body = async (t) => {
    const sent: string[] = []
    const marked = new Set<string>()
    const db = t.outside('mails', {
      isSent: (mail: string) => Promise.resolve(marked.has(mail)),
      mark: (mail: string) => Promise.resolve(void marked.add(mail)),
    })
    const smtp = t.outside('smtp', {
      send: (mail: string) => {
        if (!isFixed || !sent.includes(mail)) sent.push(mail)
        return Promise.resolve()
      },
    })
    const remind = task({
      id: 'remind',
      run: async (mail: string) => {
        if (await db.isSent(mail)) return
        await smtp.send(mail)
        await db.mark(mail)
      },
    })
    t.use(remind)
    await (await t.engine.trigger(remind, 'mail-1')).result()
    if (sent.length > 1) throw new Error(`the mail was sent ${sent.length} times`)
  }
  return { body, options: { crashes: 'every-commit' }, breaks: 'the body holds' }
}
