/** An error of the game's own function must not stop the client. */
export const guarded =
  <Arguments extends unknown[]>(callback?: (...values: Arguments) => void) =>
  (...values: Arguments): void => {
    try {
      callback?.(...values);
    } catch (error) {
      console.error(error);
    }
  };
