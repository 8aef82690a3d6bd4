/** The `id` of anything that carries one, or the value itself; checked by whoever knows what ids look like. */
export function idOf(reference: unknown): unknown {
  return typeof reference === 'object' && reference !== null && 'id' in reference ? reference.id : reference
}
