import { task, type RunTools, type Task, type TaskOptions } from 'waitpoint'

/** A task without a payload that runs `body`, which may use what the test has. */
export function bodyTask<Output>(
  body: (tools: RunTools) => Output | Promise<Output>,
  options: Partial<Omit<TaskOptions<null, Output>, 'run'>> = {},
): Task<null, Output> {
  return task({ id: 'body', ...options, run: (_payload: null, tools) => body(tools) })
}

/** What a promise rejects with. */
export async function rejection(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('Cannot get the rejection: the promise was fulfilled')
}
