import { question, type Run, streams, task, type Token } from 'waitpoint'
import type { RemoteRunHandle } from 'waitpoint/client'
import {
  useConversation,
  useInput,
  usePendingTokens,
  useQuestion,
  useRun,
  useStream,
  useToken,
  useTrigger,
} from 'waitpoint/react'
import { z } from 'zod'
import { exactly } from './expect-type.ts'

const _review = task({ id: 'review', run: async (payload: { doc: string }) => payload.doc.length })
const _refund = question({
  id: 'refund',
  message: ({ order }: { order: string }) => `Refund order ${order}?`,
  schema: z.object({ decision: z.enum(['approve', 'reject']) }),
})
const _reply = streams.define<{ word: string }>({ id: 'reply' })
const _inbox = streams.input<{ text: string }>({ id: 'messages' })

export function Component({ id }: { readonly id: string | undefined }): null {
  const { run, status, error } = useRun<typeof _review>(id)
  exactly<Run<{ doc: string }, number> | undefined>()(run)
  exactly<'connecting' | 'live' | 'reconnecting' | 'ended'>()(status)
  exactly<Error | undefined>()(error)

  exactly<readonly { word: string }[]>()(useStream<typeof _reply>(id, 'reply', { attempts: 'last' }).chunks)
  exactly<readonly string[]>()(useStream<string>(id, 'reply').chunks)
  exactly<readonly unknown[]>()(useStream(id, 'reply').chunks)
  // @ts-expect-error -- all or last
  useStream(id, 'reply', { attempts: 'first' })

  exactly<boolean | undefined>()(useToken<boolean>(id).token?.output)
  exactly<readonly Token[]>()(usePendingTokens({ tags: 'refund' }).tokens)

  const asked = useQuestion<typeof _refund>(id)
  exactly<{ order: string } | undefined>()(asked.question?.data)
  exactly<{ decision: 'approve' | 'reject' } | undefined>()(asked.token?.output)
  void asked.answer({ decision: 'approve' })
  // @ts-expect-error -- an answer is that of the question
  void asked.answer({ decision: 'later' })
  void useQuestion(id).answer('anything')

  const started = useTrigger<typeof _review>('review')
  void started.trigger({ doc: 'd1' }, { tags: 'a' })
  // @ts-expect-error -- the payload is the task's
  void started.trigger({ nmae: 'd1' })
  exactly<RemoteRunHandle<number> | undefined>()(started.run)
  exactly<number | undefined>()(useRun(started.run).run?.output)

  void useInput<typeof _inbox>(id, 'messages').send({ text: 'hello' }, { idempotencyKey: 'click' })
  // @ts-expect-error -- a message has a text
  void useInput<typeof _inbox>(id, 'messages').send('hello')

  const talk = useConversation<typeof _reply, typeof _inbox>(id, { stream: 'reply', input: 'messages' })
  exactly<readonly { word: string }[]>()(talk.chunks)
  exactly<string>()(talk.text)
  void talk.send({ text: 'hello' })
  // @ts-expect-error -- a message has a text
  void talk.send('hello')
  return null
}
