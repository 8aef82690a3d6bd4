import { show } from '../../primitives/require.ts'

/** What has a meaning in a pattern; anything else stands for itself. */
const TOKEN = /\*\*\/|\/\*\*$|\*+|\[!?[^\]]+\]|\\?[^]/g

/** Whether it has more than the name of a file or folder. */
export function isPattern(text: string): boolean {
  return /[*?{}[\]]/.test(text)
}

/**
 * Reads a pattern of paths with slashes: `*` and `?` stay within one name, `**` is any number of folders; `[abc]` and
 * `{one,other}` are alternatives. A pattern that matches a folder matches all that is below it.
 *
 * @throws TypeError for a pattern whose brackets or braces are not closed.
 */
export function patternOf(pattern: string): RegExp {
  let depth = 0
  const source = pattern.replace(/^\.\/|\/$/g, '').replace(TOKEN, (token) => {
    switch (token) {
      case '**/':
        return '(?:[^/]+/)*'
      case '/**':
        return '(?:/.*)?'
      case '**':
        return '.*'
      case '*':
        return '[^/]*'
      case '?':
        return '[^/]'
      case '{':
        depth += 1
        return '(?:'
      case '}':
        depth -= 1
        return ')'
      case ',':
        return depth > 0 ? '|' : ','
      default:
        return token.startsWith('[') && token.length > 1 ? token.replace('[!', '[^') : literal(token)
    }
  })
  try {
    return new RegExp(`^${source}(?:/.*)?$`)
  } catch (cause) {
    throw new TypeError(`Cannot use the pattern ${show(pattern)}: its brackets or braces are not closed`, {
      cause,
    })
  }
}

/** One character that stands for itself, with a backslash before it or without. */
function literal(token: string): string {
  return (token[1] ?? token).replace(/[$()*+.?[\\\]^{|}]/, '\\$&')
}
