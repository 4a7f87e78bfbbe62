require "rails_helper"

RSpec.describe WelcomeMailer, type: :mailer do
  let(:user) { build_stubbed(:user, created_at: Time.zone.now) } # !27
  let(:mail) { described_class.welcome(user) }

  it "renders the headers" do # !3
    expect(mail.subject).to eq("Welcome")
    expect(mail.to).to eq([user.email])
    expect(mail.from).to eq(["hello@example.org"])
  end

  it "renders the body", :aggregate_failures do
    expect(mail.body.encoded).to include("Hello")
    expect(mail.body.encoded).to include(user.name)
  end

  it "should not include the password" do # !19
    expect(mail.body.encoded).not_to include("password")
  end

  it "is delivered later" do
    expect_any_instance_of(ActionMailer::MessageDelivery).to receive(:deliver_later) # !22
    described_class.welcome(user).deliver_later
  end

  it "uses the locale" do
    User.any_instance.stub(:locale).and_return("de") # !22
    expect(mail.subject).to eq("Willkommen")
  end

  it "binding.pry was here" do
    binding.pry # !28
    expect(mail).to be_present
  end

  xdescribe "attachments" do # !28
    it "attaches the terms" do
      expect(mail.attachments.size).to eq(1)
    end
  end

  context "User without a name" do # !20
    let(:user) { build_stubbed(:user, name: nil) }

    it "greets politely." do # !17
      expect(mail.body.encoded).to include("Dear customer")
    end
  end
end
