import { type Task, task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'

/** A task that waits for one answer. */
function reviewTask(): Task<null, string> {
  return task({
    id: 'review',
    run: async (_payload: null) => {
      const token = await wait.createToken({ timeout: '24h', tags: ['review'] })
      const answer = await wait.forToken<string>(token)
      return answer.ok ? answer.output : 'no answer'
    },
  })
}

/** The answer is given as soon as it is asked for, in the process that asks. */
export const answeredHere: Body = async (t) => {
  const review = reviewTask()
  t.use(review)
  const run = await t.engine.trigger(review, null)
  await t.complete({ tag: 'review' }, 'yes')
  await run.outcome()
}

/** The answer is given in another process. */
export const answeredElsewhere: Body = async (t) => {
  const review = reviewTask()
  t.use(review)
  const run = await t.engine.trigger(review, null)
  const token = await t.waitingToken({ tag: 'review' })
  await t.elsewhere.wait.completeToken(token, 'yes')
  await run.outcome()
}

/** Two people answer at the same time. */
export const answeredTwice: Body = async (t) => {
  const review = reviewTask()
  t.use(review)
  const run = await t.engine.trigger(review, null)
  const token = await t.waitingToken({ tag: 'review' })
  await Promise.all([t.complete(token, 'yes'), t.complete(token, 'no')])
  await run.outcome()
}

/** The token is completed while the run is canceled. */
export const canceled: Body = async (t) => {
  const review = reviewTask()
  t.use(review)
  const run = await t.engine.trigger(review, null)
  const token = await t.waitingToken({ tag: 'review' })
  const cancel = t.engine.runs.cancel(run)
  await t.elsewhere.runs.retrieve(run)
  await t.elsewhere.wait.retrieveToken(token)
  await t.elsewhere.wait.completeToken(token, 'yes')
  await cancel
  await run.outcome()
}
