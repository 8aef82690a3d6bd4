/** An operation a caller asks for, in the words of a scope. */
export interface Access {
  readonly action: string
  readonly type: string
  /** Omitted: all objects of the type. */
  readonly id?: string
}

/** Whether any of the scopes, each `action:type[:id]`, `action:all` or `admin`, allows an access; `*` is any action. */
export function allows(scopes: readonly string[], access: Access): boolean {
  return scopes.some((scope) => scope === 'admin' || covers(scope, access))
}

function covers(scope: string, { action, type, id }: Access): boolean {
  // Colons after the second one belong to the id.
  const [scopeAction, scopeType, ...rest] = scope.split(':')
  if (scopeAction !== action && scopeAction !== '*') return false
  if (scopeType !== type && scopeType !== 'all') return false
  return rest.length === 0 || rest.join(':') === id
}

/** The ids of the single objects of a type for which the scopes allow an action. */
export function idsIn(
  scopes: readonly string[],
  { action, type }: { readonly action: string; readonly type: string },
): readonly string[] {
  return scopes.flatMap((scope) => {
    const [scopeAction, scopeType, ...rest] = scope.split(':')
    const isAbout = (scopeAction === action || scopeAction === '*') && scopeType === type
    return isAbout && rest.length > 0 ? [rest.join(':')] : []
  })
}
