import { type Task, task, wait } from 'waitpoint'
import { type Body, explore, type ExploreOptions, type ExploreReport } from 'waitpoint/testing'

/** All that there is to explore, however long that takes on this machine. */
export function exploreAll(body: Body, options: ExploreOptions = {}): Promise<ExploreReport> {
  return explore(body, { ...options, budget: { ms: Infinity, ...options.budget } })
}

/** Creates a token for each name, and returns the answers in order. */
export function askAll(people: readonly string[], timeout: number | string = '24h'): Task<null, string[]> {
  return task({
    id: 'review',
    run: async (_payload: null) => {
      const tokens = await Promise.all(people.map((tag) => wait.createToken({ timeout, tags: [tag] })))
      const answers = await Promise.all(tokens.map((token) => wait.forToken<string>(token)))
      return answers.map((answer) => (answer.ok ? answer.output : 'no answer'))
    },
  })
}

/** All tokens are completed at once, and the run ends. */
export function allAnswer(people: readonly string[]): Body {
  return async (t) => {
    const review = askAll(people)
    t.use(review)
    const run = await t.engine.trigger(review, null)
    await Promise.all(people.map((tag) => t.complete({ tag }, `${tag} agrees`)))
    const outcome = await run.outcome()
    if (!outcome.ok) throw outcome.error
  }
}
