// Stands for every package, and for what the task of a judged file is given: answers and takes anything, and is empty.

const stubs = new WeakSet()

export function stub() {
  const any = function () {
    return stub()
  }
  const made = new Proxy(any, {
    get: (target, key) => {
      if (key === 'then') return undefined
      if (key === Symbol.toPrimitive || key === 'toJSON') return () => ''
      if (key === Symbol.iterator) return function* () {}
      if (key === Symbol.asyncIterator) return async function* () {}
      return key === 'prototype' ? target.prototype : stub()
    },
    apply: stub,
    construct: stub,
  })
  stubs.add(made)
  return made
}

/** As the prototype of a module it has every name. */
export function stubModule() {
  const module = function () {
    return stub()
  }
  return Object.setPrototypeOf(module, stub())
}

/** The options that are called: a stub does. */
const CALLED = /^(schema|run|init|cleanup|middleware|handleError|catchError|on[A-Z].*)$/
let nameless = 0

/** Options of a task or a queue without the values that come from stubs: texts and numbers are asked for, before anything runs. */
export function taskOptions(options) {
  const { id = `stub-${(nameless += 1)}`, ...others } = withoutStubs(options)
  return { id, ...others }
}

export function withoutStubs(value) {
  if (Object.getPrototypeOf(value ?? '') !== Object.prototype) return value
  const entries = Object.entries(value).filter(
    ([name, each]) => CALLED.test(name) || !(stubs.has(each) || Number.isNaN(each)),
  )
  return Object.fromEntries(entries.map(([name, each]) => [name, withoutStubs(each)]))
}

/**
 * An object whose methods are given empty texts for stubs, also within what they are given. What it calls a batch is given its
 * items, at the place `itemsAt`: of a stub, none.
 */
export function givenTexts(object, itemsAt) {
  const given = new Proxy(object, {
    get: (_, name) => {
      const value = object[name]
      if (typeof value === 'object' && value !== null) return givenTexts(value)
      if (typeof value !== 'function') return value
      const isBatch = itemsAt !== undefined && /batch|byTask/i.test(String(name))
      return (...values) => {
        const texts = values.map((each, place) =>
          isBatch && place === itemsAt && stubs.has(each) ? [] : withTexts(each),
        )
        const result = value.apply(object, texts)
        return result === object ? given : result
      }
    },
  })
  return given
}

/** A task whose methods are given empty texts for stubs. */
export function triggeredWithTexts(task) {
  const given = givenTexts(task, 0)
  const names = ['trigger', 'batchTrigger', 'triggerAndWait', 'batchTriggerAndWait']
  return Object.assign(task, Object.fromEntries(names.map((name) => [name, given[name]])))
}

function withTexts(value) {
  if (stubs.has(value)) return ''
  if (Array.isArray(value)) return value.map(withTexts)
  if (Object.getPrototypeOf(value ?? '') !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withTexts(each)]))
}
