require "rails_helper"

RSpec.describe Session, type: :model do
  include ActiveSupport::Testing::TimeHelpers

  subject(:session) { described_class.new(user: user, started_at: Time.zone.now) }

  let(:user) { build_stubbed(:user) }

  before { freeze_time }

  it { is_expected.to be_valid }

  describe "#expired?" do
    it "is false at first" do
      expect(session).not_to be_expired
    end

    context "when half an hour has passed" do
      before { travel 30.minutes }

      it "is true" do
        expect(session).to be_expired
      end
    end
  end

  describe "#touch" do
    it "moves the start" do
      travel 5.minutes
      expect { session.touch }.to change(session, :started_at).to(Time.zone.now)
    end
  end

  describe "#user_name" do
    it "delegates to the user" do
      expect(session.user_name).to eq(user.name)
    end
  end
end
