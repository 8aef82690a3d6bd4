import { metadata, once, type Task, task, wait } from 'waitpoint'

/** What the output of a run that asked for approval says. */
export interface Approval {
  readonly token: string
  readonly value: number
  readonly effect: string
}

/** So far in the future that no test reaches it. */
export const NEVER: Date = new Date('2100-01-01')
/** The tag of the tokens of these runs. */
export const APPROVE_TAG = 'load'
const CHUNKS = 5

/** Who is told what happens in a run. */
export interface ApproveListeners {
  readonly kept?: (run: string, effect: string) => void
  readonly aborted?: (run: string, reason: unknown) => void
}

/** A run with one of everything that must survive: an effect, a stream and a wait. */
export function approveTask({ kept, aborted }: ApproveListeners = {}): Task<string, Approval> {
  return task({
    id: 'approve',
    // Fixtures are written and read by two builds, whose code is not the same text.
    version: '1',
    run: async (name: string, { ctx, signal }) => {
      signal.addEventListener('abort', () => aborted?.(ctx.run.id, signal.reason))
      const effect = await once('effect', () => `${name} of ${process.pid}`)
      kept?.(ctx.run.id, effect)
      await metadata.stream('draft', words(ctx.attempt.number))
      const token = await wait.createToken({ tags: [APPROVE_TAG], timeout: NEVER })
      const value = await wait.forToken<number>(token).unwrap()
      return { token: token.id, value, effect }
    },
  })
}

async function* words(attempt: number): AsyncGenerator<string> {
  for (let index = 0; index < CHUNKS; index += 1) {
    await Promise.resolve()
    yield `${attempt} ${index}`
  }
}
