/** Under this name the instant from which a delayed run may be executed is stored beside its trace context. */
export const DUE_AT = 'waitpoint-due-at'
