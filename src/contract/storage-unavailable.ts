const CODE = 'ERR_STORAGE_UNAVAILABLE'

/** Options of a {@link StorageUnavailableError}. */
export interface StorageUnavailableOptions extends ErrorOptions {
  /** Whether the call may have taken effect all the same, because its answer was lost. */
  readonly mayBeDone: boolean
}

/**
 * A storage throws this error when it cannot be used now and the call is not to blame: the server is away, the disk is
 * full, another process has the lock. An engine makes the call of a run again; see `docs/writing-a-storage.md`. Every
 * other error of a storage is a defect, and goes to the caller.
 */
export class StorageUnavailableError extends Error {
  readonly code: typeof CODE = CODE
  /** Whether the call may have taken effect all the same, because its answer was lost. */
  readonly mayBeDone: boolean

  constructor(message: string, { mayBeDone, ...options }: StorageUnavailableOptions) {
    super(message, options)
    this.name = 'StorageUnavailableError'
    this.mayBeDone = mayBeDone
  }
}

/**
 * Whether a storage said that it cannot be used now. Told by the code: a storage may come with its own copy of the class.
 * Anything can be thrown, also a value that does not even tell its class.
 */
export function isStorageUnavailable(error: unknown): boolean {
  try {
    return error instanceof Error && 'code' in error && error.code === CODE
  } catch {
    return false
  }
}

/** Whether a call that failed may have taken effect all the same. An error that does not say so is taken to mean that. */
export function mayBeDone(error: unknown): boolean {
  return !(error instanceof Error && 'mayBeDone' in error && error.mayBeDone === false)
}
