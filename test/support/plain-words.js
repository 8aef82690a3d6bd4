/** Pronouns that hide the subject of a sentence. Name the caller, the engine or the reader instead. */
const HIDDEN_SUBJECT = /\b(?:nobody|somebody|whoever|everybody)\b/i

/** A hover shows a doc comment alone, without the one that it refers to. */
const THE_SAME = /^\*\s*\*?\s*The same\b/

/** The functions whose first argument is the name of a test. */
const TEST_FUNCTION = /^(?:it|test|describe|taskTest)\b/

/** ESLint rule: comments, names of tests and messages of errors name their subject. */
export const plainWords = {
  meta: {
    type: 'suggestion',
    schema: [],
    messages: {
      subject: '"{{word}}" names no subject: write which caller, engine or reader it is.',
      same: 'A hover shows this comment alone: say the whole instead of "The same".',
    },
  },
  create(context) {
    const { sourceCode } = context

    function checkText(node, text) {
      const word = HIDDEN_SUBJECT.exec(text)?.[0]
      if (word !== undefined) context.report({ loc: node.loc, messageId: 'subject', data: { word } })
    }

    function checkLiteral(node, text) {
      if (isTestName(node, sourceCode) || isErrorMessage(node)) checkText(node, text)
    }

    return {
      Program() {
        for (const comment of sourceCode.getAllComments()) {
          checkText(comment, comment.value)
          if (comment.type === 'Block' && THE_SAME.test(comment.value))
            context.report({ loc: comment.loc, messageId: 'same' })
        }
      },
      Literal(node) {
        if (typeof node.value === 'string') checkLiteral(node, node.value)
      },
      TemplateLiteral(node) {
        checkLiteral(node, node.quasis.map(({ value }) => value.raw).join(' '))
      },
    }
  },
}

/** The first argument of `it`, `describe` and the like, or a cell of the table of `it.each`. */
function isTestName(node, sourceCode) {
  for (let child = node, above = node.parent; above; child = above, above = above.parent) {
    if (above.type === 'CallExpression')
      return above.arguments[0] === child && TEST_FUNCTION.test(sourceCode.getText(above.callee))
    if (above.type !== 'ArrayExpression') return false
  }
  return false
}

/** Inside of the arguments of `new …Error(…)`, `new Refusal(…)`, or of `super(…)` in a class of errors. */
function isErrorMessage(node) {
  for (let above = node.parent; above; above = above.parent) {
    if (
      above.type === 'NewExpression' &&
      /(?:Error|Refusal|Mismatch|Violation)$/.test(above.callee.name ?? '')
    )
      return true
    if (above.type === 'CallExpression') return above.callee.type === 'Super'
    if (/Function|Class|Statement|Declaration/.test(above.type)) return false
  }
  return false
}
