import type { Decider } from 'waitpoint/testing'

/** Each schedule, without slow calls and the skipping of what is known. */
export function each(decider: Decider): Decider {
  return {
    isExhaustive: decider.isExhaustive,
    begin() {
      const choose = decider.begin()
      return choose && ((choice) => (choice.kind === 'slow' ? 0 : choose(choice)))
    },
    end: (decisions) => decider.end?.(decisions.filter(({ choice }) => choice.kind !== 'slow')),
  }
}
