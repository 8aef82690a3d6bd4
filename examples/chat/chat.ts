import { once, streams, task, wait } from 'waitpoint'
import type { DefinedStream, InputStream, Task } from 'waitpoint'

/** One piece of the conversation: a message, or a word of the answer to it. */
export interface Said {
  readonly by: 'you' | 'model'
  readonly text: string
}

/** A model: says words, until it is stopped. */
export type Talk = (message: string, signal: AbortSignal) => AsyncIterable<string>

export const messages: InputStream<string> = streams.input<string>({ id: 'messages' })
export const said: DefinedStream<Said> = streams.define<Said>({ id: 'said' })

/** Answers each message, word by word, until a button stops it. A day without a message ends the conversation. */
export function chatTask(talk: Talk): Task<null, string> {
  return task({
    id: 'chat',
    run: async (_: null, { signal }) => {
      for (let turn = 1; ; turn += 1) {
        const message = await messages.wait({ timeout: '1d' })
        if (!message.ok) return `${turn - 1} answers`
        await said.append({ by: 'you', text: message.output }, { once: `message ${turn}` })
        const button = await wait.createToken({ name: `stop ${turn}`, tags: 'stop', timeout: '1d' })
        const stop = AbortSignal.any([signal, await wait.signal(button)])
        // Paid for once: an answer that is whole is not asked for again. One that was cut begins anew.
        await once(`answer ${turn}`, async () => {
          await said.pipe(words(talk(message.output, stop))).waitUntilComplete()
        })
        await wait.completeToken(button) // it stops nothing any more
      }
    },
  })
}

async function* words(answer: AsyncIterable<string>): AsyncGenerator<Said> {
  for await (const text of answer) yield { by: 'model', text }
}
