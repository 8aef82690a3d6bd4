import fc from 'fast-check'

/** Any value that JSON can hold: not -0, which comes back as 0. */
export function jsonValue(): fc.Arbitrary<unknown> {
  return fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown)
}
