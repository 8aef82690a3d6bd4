import { Refusal } from '../refusal.ts'

/** What the language itself says of a fault of ours begins like our own messages; it is a fault all the same. */
const OWN_FAULT =
  /^Cannot (?:(?:read|set|delete) propert|convert|destructure|access|mix|redefine|assign|add prop)/

/**
 * Calls the engine with what a request asks for: where a caller in this process would get a TypeError or RangeError,
 * whoever sent the request gets a 400 with its message.
 */
export async function refusingWrongInput<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (thrown) {
    if (!isAboutInput(thrown)) throw thrown
    throw new Refusal(400, thrown.message, { cause: thrown })
  }
}

function isAboutInput(thrown: unknown): thrown is Error {
  const isOfKind = thrown instanceof TypeError || thrown instanceof RangeError
  return isOfKind && thrown.message.startsWith('Cannot ') && !OWN_FAULT.test(thrown.message)
}
