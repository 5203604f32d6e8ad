/** The same function, but an error that it throws is only logged: a mistake in the game's own callback must not stop the client. */
export const guarded =
  <Arguments extends unknown[]>(callback?: (...values: Arguments) => void) =>
  (...values: Arguments): void => {
    try {
      callback?.(...values);
    } catch (error) {
      console.error(error);
    }
  };
