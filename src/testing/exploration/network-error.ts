/** The error of `fetch` for a connection that breaks. */
export function networkError(why: string): TypeError {
  return new TypeError('fetch failed', { cause: new Error(`The answer was lost: ${why} in this schedule`) })
}
