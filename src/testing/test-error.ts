/** The error codes of the test fixture. A code never changes its meaning. */
export type TestErrorCode =
  | 'ERR_NO_SUCH_TOKEN'
  | 'ERR_SEVERAL_TOKENS'
  | 'ERR_NOT_UNDER_TEST'
  | 'ERR_UNKNOWN_STORAGE'
  | 'ERR_NO_POSTGRES'
  | 'ERR_LOOSE_ENDS'
  | 'ERR_NO_HISTORY'
  | 'ERR_HISTORY_DEPARTS'

/** An error of the fixture; every message says what to do. */
export class TestError extends Error {
  override name: string = 'TestError'
  readonly code: TestErrorCode

  constructor(code: TestErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
