import type { TestClock } from '../clock/test-clock.ts'
import type { Unsubscribe } from '../contract/storage.ts'
import type { Engine } from '../core/engine.ts'
import type { AnyTask, TaskOutput, TaskPayload } from '../core/run.ts'
import type { CompletedToken, Token, TokenReference } from '../core/token.ts'
import type { TaskCall, TaskMock } from './stand-ins.ts'
import type { AnswerOptions, TokenByTag } from './token-answers.ts'

/** An engine in virtual time, and what plays the outside world for its tasks. */
export interface TestEngine extends AsyncDisposable {
  readonly engine: Engine
  readonly clock: TestClock
  /** All calls of a task so far, in order. */
  calls<Called extends AnyTask>(task: Called): readonly TaskCall<TaskPayload<Called>, TaskOutput<Called>>[]
  /** Calls `mock` instead of the task's own function, until what this answers is called. */
  mock<Mocked extends AnyTask>(
    task: Mocked,
    mock: TaskMock<TaskPayload<Mocked>, TaskOutput<Mocked>>,
  ): Unsubscribe
  /**
   * Completes a token, now or once time has moved on to `at`, and settles. A token that only its task knows is found by
   * `{ tag }`, as by `waitingToken`.
   */
  complete(
    token: TokenReference | TokenByTag,
    output?: unknown,
    options?: AnswerOptions,
  ): Promise<CompletedToken>
  /** The one waiting token with this tag; time moves on until there is one. */
  waitingToken(token: TokenByTag): Promise<Token>
  /** Posts a JSON body, or none, to the URL of a token, through the HTTP handler and without a port. */
  post(url: string, body?: unknown): Promise<Response>
  /** Closes the engine; then the clock, if it was made here: what is left of the test is an error. */
  close(): Promise<void>
}
