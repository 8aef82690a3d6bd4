import { Refusal } from '../refusal.ts'

/** A TypeError of the JavaScript runtime can begin like a message of the engine. It is still a fault. */
const OWN_FAULT =
  /^Cannot (?:(?:read|set|delete) propert|convert|destructure|access|mix|redefine|assign|add prop)/

/**
 * Calls the engine with the input of a request. A TypeError or RangeError for wrong input becomes a 400 with its
 * message.
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
