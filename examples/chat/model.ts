import { setTimeout as pause } from 'node:timers/promises'

const ANSWER =
  'You said “*”. An answer takes a while, word by word, as that of any model does. Stop it, send something else ' +
  'meanwhile, or kill the process: the conversation is kept, and goes on where it was.'

/** Stands for a model: yours is a call that streams, and takes the signal. */
export async function* talk(message: string, signal: AbortSignal): AsyncGenerator<string> {
  for (const word of ANSWER.replace('*', () => message).split(' ')) {
    await pause(120, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    yield `${word} `
  }
}
